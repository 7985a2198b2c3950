#!/bin/sh
# One all-reduce over the pods of an Indexed Job, one pod a node. Index 0 launches it and prints what scripts/nccl judges;
# the others serve ssh until it has ended. On the embedded target no container runs: there this text is only carried to
# the API, and a recording answers in its place. It has been checked by sh -n and read, not run on GPUs.
#
# Needs in the image: sshd, ssh, mpirun (Open MPI), timeout, awk, and nccl-tests built with MPI=1.
# Environment: GATE_JOB GATE_SERVICE GATE_NODES GATE_GPUS GATE_MIN_BYTES GATE_MAX_BYTES GATE_SSH_PORT GATE_SECONDS, and
# JOB_COMPLETION_INDEX from Kubernetes. /etc/gate-ssh holds the key pair of this run.
set -u

ENDED=/tmp/gate-ended
BINARY=${GATE_BINARY:-/opt/nccl-tests/build/all_reduce_perf}
SSH="ssh -p $GATE_SSH_PORT -i /etc/gate-ssh/id -o UserKnownHostsFile=/etc/gate-ssh/known_hosts
 -o StrictHostKeyChecking=yes -o BatchMode=yes -o ConnectTimeout=5 -o LogLevel=ERROR"

host() {
    echo "$GATE_JOB-$1.$GATE_SERVICE"
}

# mpirun starts its daemons through ssh without our environment; the launcher's -x options carry what the ranks need.
serve() {
    mkdir -p /run/sshd
    cp /etc/gate-ssh/id.pub /tmp/authorized_keys
    chmod 600 /tmp/authorized_keys
    /usr/sbin/sshd -p "$GATE_SSH_PORT" -h /etc/gate-ssh/id \
        -o AuthorizedKeysFile=/tmp/authorized_keys -o PasswordAuthentication=no -o StrictModes=no \
        -o PermitRootLogin=prohibit-password
}

wait_for_end() {
    waited=0
    while [ ! -e "$ENDED" ] && [ "$waited" -lt "$GATE_SECONDS" ]; do
        sleep 1
        waited=$((waited + 1))
    done
}

tell_the_others() {
    index=1
    while [ "$index" -lt "$GATE_NODES" ]; do
        $SSH "$(host "$index")" "touch $ENDED" </dev/null &
        index=$((index + 1))
    done
    wait
}

# Every pod must answer before mpirun starts: it would give up at the first that does not.
wait_for_all() {
    index=0
    tries=0
    while [ "$index" -lt "$GATE_NODES" ]; do
        if $SSH "$(host "$index")" true </dev/null; then
            echo "$(host "$index") slots=$GATE_GPUS" >>/tmp/hostfile
            index=$((index + 1))
        elif [ "$tries" -ge 120 ]; then
            echo "gate: $(host "$index") does not answer by ssh"
            return 1
        else
            tries=$((tries + 1))
            sleep 2
        fi
    done
}

# A kubelet keeps the last 10 MiB of a log, and thousands of ranks write more. Of NCCL's messages one of each kind and
# host is kept, and every kind of channel; all else passes.
condense() {
    awk '
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

launch() {
    timeout -k 10 "$GATE_SECONDS" mpirun --allow-run-as-root --hostfile /tmp/hostfile \
        -np $((GATE_NODES * GATE_GPUS)) -N "$GATE_GPUS" --bind-to none \
        --mca plm_rsh_agent "$(echo "$SSH" | tr -d '\n')" --mca btl tcp,self --mca pml ob1 \
        --mca btl_tcp_if_exclude lo \
        -x FI_PROVIDER=efa -x NCCL_DEBUG=INFO -x NCCL_DEBUG_SUBSYS=INIT,NET,NVLS -x LD_LIBRARY_PATH -x PATH \
        "$BINARY" -b "$GATE_MIN_BYTES" -e "$GATE_MAX_BYTES" -f 2 -g 1 -c 1 -w 5 -n 20 2>&1
    echo "gate: mpirun ended with exit code $?"
}

serve
if [ "$JOB_COMPLETION_INDEX" -ne 0 ]; then
    wait_for_end
    exit 0
fi
trap tell_the_others EXIT
wait_for_all || exit 1
launch | condense
