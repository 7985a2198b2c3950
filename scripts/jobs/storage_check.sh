#!/bin/sh
# Measures the shared file system from one node and prints what it saw; judges nothing (scripts/storage does;
# docs/storage-checks.md describes the form). All nodes of a wave run it at once, and meet before they write and before they
# read. It works in a folder of its own, GATE_STORAGE/.trainyard-gate/RUN/data/NODE, and removes it, also when it is stopped.
#
# Needs in the image: dd, sha256sum, date, awk, find, stat and timeout (GNU coreutils or alike), and /proc.
# Environment:
#   GATE_STORAGE  where the file system is mounted
#   GATE_TYPE     the type that it must be of: on any other nothing is written, for a node's own disk is not meant
#   GATE_RUN, GATE_NODE   names of the run and, in it, of this node
#   GATE_BYTES    how much is written and read, by all streams together
#   GATE_STREAMS  files at once: one TCP stream moves only a part of what a node can
#   GATE_FILES    how many small files are made
#   GATE_CLIENTS  how many nodes run at once
#   GATE_WAIT     seconds to wait for the others, each time
#   GATE_LIMIT    seconds that one direction may take
#   GATE_CHUNK    bytes after which the data carry a new stamp; 8 MiB unless given
#   GATE_MEMORY   a folder in memory, for what is written; /dev/shm unless given
#
# The data do not compress, so that Lustre's LZ4 does not help them, and each chunk says whose it is, so that one of another
# file or place is noticed. They are read with O_DIRECT: what comes back was not kept by this node's memory.
set -u
LC_ALL=C
export LC_ALL

base=$GATE_STORAGE/.trainyard-gate
run=$base/$GATE_RUN
own=$run/data/$GATE_NODE
memory=${GATE_MEMORY:-/dev/shm}/trainyard-storage.$$
chunk=${GATE_CHUNK:-8388608}
chunks=$((GATE_BYTES / GATE_STREAMS / chunk))
[ "$chunks" -gt 0 ] || chunks=1
bytes=$((chunks * chunk * GATE_STREAMS))
counts=

# Runs a step and prints its section. What it says goes to a file first, to be counted. It runs in the background, because
# a shell hears of a signal at once only in wait.
section() {
    echo "#@ begin $1"
    "step_$1" >"$memory/out" 2>&1 &
    wait $!
    rc=$?
    sed 's/^/| /' "$memory/out"
    counts="$counts $1=$(($(wc -l <"$memory/out")))"
    case $rc in
        124 | 137) echo "#@ end $1 timeout" ;;
        127) echo "#@ end $1 missing" ;;
        *) echo "#@ end $1 rc=$rc" ;;
    esac
    return "$rc"
}

finish() {
    echo "#@ done$counts"
    rm -rf "$memory"
    exit 0
}

stopped() {
    trap '' HUP INT TERM
    # The steps have children of their own, so the whole group is told; this shell does not listen any more.
    kill -TERM 0
    wait
    [ -z "${working:-}" ] || leave
    rm -rf "$memory"
    exit 143
}

# Since boot, in hundredths of a second: nothing sets this clock.
uptime() {
    read -r up _ </proc/uptime
    echo "$up"
}

seconds_since() {
    awk -v from="$1" -v to="$(uptime)" 'BEGIN { printf "%.2f\n", to - from }'
}

step_mount() {
    line=$(awk -v path="$GATE_STORAGE/" '
        { at = $5 == "/" ? "/" : $5 "/" }
        index(path, at) == 1 && length(at) >= best {
            best = length(at)
            for (i = 7; i < NF && $i != "-"; i++);
            line = "mount type=" $(i + 1) " options=" $6
        }
        END { print line }
    ' /proc/self/mountinfo) || return
    echo "$line"
    case $line in "mount type=$GATE_TYPE "*) ;; *) return 1 ;; esac
}

# A link that somebody put in our place could lead anywhere.
linked() {
    [ -L "$base" ] || [ -L "$run" ]
}

# Marks that this node is here, and waits for the marks of the others. Marks stay until the last node leaves, so that one
# that looks late sees them all.
meet() {
    since=$(uptime)
    : >"$run/$1/$GATE_NODE" || return
    while :; do
        set -- "$1" "$run/$1"/*
        waited=$(seconds_since "$since")
        if [ $# -gt "$GATE_CLIENTS" ] || [ "${waited%.*}" -ge "$GATE_WAIT" ]; then
            met=$(($# - 1))
            return 0
        fi
        sleep 1
    done
}

# Removes what this node wrote, and the folder of the run where every other node has left it.
leave() {
    rm -rf "$own" || return
    : >"$run/left/$GATE_NODE" || return
    set -- "$run/left"/*
    if [ $# -ge "$GATE_CLIENTS" ]; then
        rm -rf "$run"
        rmdir "$base" 2>/dev/null
    fi
    return 0
}

step_meet() {
    if linked; then
        echo "$base is a link, and must be a folder"
        return 1
    fi
    (umask 077 && mkdir -p "$run/data" "$run/write" "$run/read" "$run/left" && mkdir "$own") || return
    if dd if=/dev/zero "of=$own/probe" bs=4096 count=1 oflag=direct status=none 2>/dev/null; then
        echo direct >"$memory/way"
    else
        echo synced >"$memory/way"
    fi
    rm -f "$own/probe"
    head -c $((chunk - 4096)) /dev/urandom >"$memory/random" || return
    streams digest_one || return
    meet write || return
    echo "meet clients=$met of=$GATE_CLIENTS seconds=$waited"
}

# The bytes of one stream, the same each time.
stream() {
    number=0
    while [ "$number" -lt "$chunks" ]; do
        printf '%-4096s' "$GATE_RUN $GATE_NODE stream $1 chunk $number"
        cat "$memory/random"
        number=$((number + 1))
    done
}

# Runs a command for every stream at once; fails as one of them does.
streams() {
    started=
    number=0
    while [ "$number" -lt "$GATE_STREAMS" ]; do
        "$1" "$number" &
        started="$started $!"
        number=$((number + 1))
    done
    failed=0
    for one in $started; do
        wait "$one" || failed=$?
    done
    return "$failed"
}

# In the foreground of this script's group, so that a stop reaches dd.
limited_dd() {
    timeout --foreground -k 5 "$GATE_LIMIT" dd bs=4M status=none "$@"
}

digest_one() {
    stream "$1" | sha256sum >"$memory/written.$1"
}

write_one() {
    case $way in
        direct) stream "$1" | limited_dd "of=$own/$1" iflag=fullblock conv=fsync oflag=direct ;;
        *) stream "$1" | limited_dd "of=$own/$1" iflag=fullblock conv=fsync ;;
    esac
}

# A pipe ends as its last command does; how dd ended is kept in a file.
read_one() {
    case $way in direct) flag=direct ;; *) flag=nocache ;; esac
    {
        limited_dd "if=$own/$1" "iflag=$flag"
        echo $? >"$memory/ended.$1"
    } | sha256sum >"$memory/read.$1" && return "$(cat "$memory/ended.$1")"
}

# Times what moves the data, and tells it with the digest of all streams, in their order.
moved() {
    way=$(cat "$memory/way")
    from=$(date +%s.%3N)
    since=$(uptime)
    streams "$2" || return
    took=$(seconds_since "$since")
    number=0
    while [ "$number" -lt "$GATE_STREAMS" ]; do
        cat "$memory/$3.$number" || return
        number=$((number + 1))
    done >"$memory/$3"
    digest=$(sha256sum <"$memory/$3")
    echo "$1 bytes=$bytes streams=$GATE_STREAMS way=$way from=$from seconds=$took digest=${digest%% *}"
}

step_write() {
    moved write write_one written
}

step_read() {
    meet read || return
    moved read read_one read
}

step_files() {
    mkdir "$own/files" || return
    since=$(uptime)
    number=0
    while [ "$number" -lt "$GATE_FILES" ]; do
        echo "$number" >"$own/files/$number" || return
        number=$((number + 1))
    done
    seen=$(find "$own/files" -type f -exec stat -c %s {} + | awk '$1 > 1' | wc -l)
    rm -r "$own/files" || return
    echo "files count=$GATE_FILES seen=$((seen)) seconds=$(seconds_since "$since")"
}

# Also what nodes left behind that died a day ago or earlier.
step_clean() {
    leave || return
    find "$base" -mindepth 1 -maxdepth 1 -type d -mmin +1440 -exec rm -rf {} + 2>/dev/null
    return 0
}

mkdir "$memory" || exit
trap stopped HUP INT TERM

echo "#@ trainyard-storage-check 1"
section mount || finish
working=yes
section meet && section write && section read && section files
linked || section clean
finish
