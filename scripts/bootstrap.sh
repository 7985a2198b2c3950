#!/usr/bin/env bash
# Makes .venv from uv.lock. Needs Python 3.11 or newer; uv is used if it is there and put
# into the user's cache folder if it is not.
set -euo pipefail
cd "$(dirname "$0")/.."

UV_VERSION=0.13.9
export UV_PYTHON_DOWNLOADS=never

python=""
for candidate in python3.13 python3.12 python3.11 python3; do
    if command -v "$candidate" >/dev/null 2>&1 &&
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$(command -v "$candidate")
        break
    fi
done
if [ -z "$python" ]; then
    echo "error: found no Python 3.11 or newer on PATH; install one (Debian: apt install python3 python3-venv)" >&2
    exit 2
fi

uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    home="${TRAINYARD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trainyard}/uv-$UV_VERSION"
    uv="$home/bin/uv"
    if [ ! -x "$uv" ]; then
        echo "trainyard: installing uv $UV_VERSION into $home"
        if ! "$python" -m venv "$home"; then
            rm -rf "$home"
            echo "error: $python cannot make a virtual environment; install its venv module (Debian: apt install python3-venv)" >&2
            exit 2
        fi
        "$home/bin/pip" install --quiet --disable-pip-version-check "uv==$UV_VERSION"
    fi
fi

# Compiled once here: where PYTHONDONTWRITEBYTECODE is set, as in many images, every run would compile thousands of
# modules of the SDKs anew, and take twice as long.
echo "trainyard: making .venv from uv.lock (about 40 s the first time)"
"$uv" sync --quiet --frozen --compile-bytecode --python "$python"
