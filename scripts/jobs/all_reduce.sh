#!/bin/sh
# One collective over the pods of an MPIJob, one pod a node: what the launcher runs, whose node holds rank 0; or over the one
# pod of a Job. It prints what scripts/nccl judges; the workers run serve_ssh.sh. On the embedded target no container runs: there this text is only carried
# to the API, and a recording answers in its place. Its parts are tested with a program in mpirun's place, not on GPUs.
#
# Needs in the image: ssh, mpirun (Open MPI), getent, timeout, awk, and nccl-tests built with MPI=1.
# Environment: GATE_BINARY GATE_NODES GATE_GPUS GATE_MIN_BYTES GATE_MAX_BYTES GATE_SSH_PORT GATE_SECONDS GATE_SILENT_SECONDS; and
# GATE_JOB, which only a recording reads.
# From the MPI operator, for more nodes than one: the host file, in which this pod stands first, and at /etc/gate-ssh the key pair of this MPIJob.
set -u

BINARY=${GATE_BINARY:-/opt/nccl-tests/build/all_reduce_perf}
HOSTS=${OMPI_MCA_orte_default_hostfile:-/etc/mpi/hostfile}
KEYS=/etc/gate-ssh
# At these places on workers too (serve_ssh.sh), which call each other.
KEY=/tmp/gate_key
KNOWN=/tmp/gate_known_hosts
SSH="ssh -p $GATE_SSH_PORT -i $KEY -o UserKnownHostsFile=$KNOWN -o StrictHostKeyChecking=yes -o BatchMode=yes
 -o ConnectTimeout=5 -o LogLevel=ERROR"
ALIVE=$(mktemp)
AWAY=$(mktemp)
if [ "$GATE_NODES" -eq 1 ]; then
    HOSTS=$(mktemp)
    echo "$(hostname) slots=$GATE_GPUS" >"$HOSTS"
fi

AT_ONCE=32
WAIT_SECONDS=240
# How long a name server may say that a pod has no address after another one has told it (CoreDNS).
NAME_SECONDS=5

# mpirun starts the ranks of this pod without ssh, if it can see by its address that the name is its own.
knows_itself() {
    first=$(head -n 1 "$HOSTS" | cut -d ' ' -f 1)
    until getent hosts "$first" >/dev/null; do
        if [ "$(date +%s)" -ge "$1" ]; then
            echo "gate: Could not resolve hostname ${first%%.*}"
            return 1
        fi
        sleep 1
    done
}

answers() {
    until $SSH "$1" true </dev/null >/dev/null 2>&1; do
        if [ "$(date +%s)" -ge "$2" ]; then
            echo "gate: ${1%%.*} does not answer by ssh"
            echo x >>"$AWAY"
            return
        fi
        sleep 2
    done
}

# Every pod must answer before mpirun starts: it would give up at the first that does not. Kueue starts the launcher and the
# workers together, so the launcher cannot rely on them to be there.
wait_for_all() {
    end=$(($(date +%s) + WAIT_SECONDS))
    knows_itself "$end" || return 1
    asked=0
    for host in $(sed 1d "$HOSTS" | cut -d ' ' -f 1); do
        answers "$host" "$end" &
        asked=$((asked + 1))
        [ $((asked % AT_ONCE)) -ne 0 ] || wait
    done
    wait
    [ ! -s "$AWAY" ] || return 1
    # Workers call each other too.
    [ "$asked" -lt 2 ] || sleep "$NAME_SECONDS"
}

# A kubelet keeps the last 10 MiB of a log, and thousands of ranks write more. Of NCCL's messages one of each kind and
# host is kept, and every kind of channel; all else passes. Each line also adds a byte to a file, by which watch sees that
# something is being said.
condense() {
    # mawk reads a pipe in blocks unless told otherwise, and would sit on the last lines of a run that hangs.
    case $(awk -W version 2>&1 </dev/null) in
        mawk*) set -- -W interactive ;;
        *) set -- ;;
    esac
    awk "$@" -v alive="$ALIVE" '
        { printf "." >alive; fflush(alive) }
        !/ NCCL INFO / { print; fflush(); next }
        {
            split($0, part, ":")
            kind = $0
            sub(/^.* NCCL INFO /, "", kind)
            if (kind ~ / via NET\//) {
                end = (kind ~ /\[send\]/) ? "send" : "receive"
                sub(/^.* via NET\//, "", kind)
                split(kind, path, "/")
                kind = end " " path[1] ((kind ~ /GDRDMA/) ? " GDRDMA" : "")
            } else if (kind !~ /NET\/|Using network|NVLS multicast|GDR|nvls channels/) {
                next
            }
            if (!seen[part[1], kind]++) { print; fflush() }
        }'
}

# A hang is told long before the deadline of the Job: whoever prints nothing for so long is stopped.
watch() {
    quiet=0
    size=-1
    while kill -0 "$1" 2>/dev/null; do
        now=$(wc -c <"$ALIVE")
        if [ "$now" -ne "$size" ]; then
            size=$now
            quiet=0
        elif [ "$quiet" -ge "$GATE_SILENT_SECONDS" ]; then
            echo "gate: no output for $GATE_SILENT_SECONDS s; stopped"
            kill "$1"
            return
        fi
        sleep 1 >/dev/null 2>&1
        quiet=$((quiet + 1))
    done
}

# By its whole path, so that it finds its daemons on the workers, whose ssh sessions have a path of their own. The ranks get
# what they need of our environment by -x.
launch() {
    timeout -k 10 "$GATE_SECONDS" "$(command -v mpirun)" --allow-run-as-root --hostfile "$HOSTS" \
        -np $((GATE_NODES * GATE_GPUS)) -N "$GATE_GPUS" --bind-to none \
        --mca plm_rsh_agent "$(echo "$SSH" | tr -d '\n')" --mca btl tcp,self --mca pml ob1 \
        --mca btl_tcp_if_exclude lo \
        -x FI_PROVIDER=efa -x NCCL_DEBUG=INFO -x NCCL_DEBUG_SUBSYS=INIT,NET,NVLS -x LD_LIBRARY_PATH -x PATH \
        "$BINARY" -b "$GATE_MIN_BYTES" -e "$GATE_MAX_BYTES" -f 2 -g 1 -c 1 -w 5 -n 20 2>&1 &
    program=$!
    watch "$program" &
    watcher=$!
    wait "$program"
    code=$?
    kill "$watcher" 2>/dev/null
    echo "gate: mpirun ended with exit code $code"
}

if [ -r "$KEYS/id_rsa" ]; then
    # A volume's files are open to all in the pod, and ssh takes no private key that is.
    (umask 077 && cp "$KEYS/id_rsa" "$KEY")
    echo "* $(cat "$KEYS/id_rsa.pub")" >"$KNOWN"
fi
wait_for_all || exit 1
launch | condense
