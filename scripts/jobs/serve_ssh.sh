#!/bin/sh
# What a worker of an MPIJob runs: it serves ssh until the MPIJob is deleted, so that mpirun can start ranks on it. The MPI operator
# mounts a key pair of this run alone at /root/.ssh; it is the host key too, so a host that shows it is one of ours.
#
# Needs in the image: sshd.
# Environment: GATE_SSH_PORT.
set -u

mkdir -p /run/sshd
# mpirun starts its daemons in a tree: a worker also calls others.
echo "* $(cat /root/.ssh/id_rsa.pub)" >/tmp/gate_known_hosts
# The keys stand in a volume whose directory anybody in the pod may write to, which sshd would take as a reason to ignore them.
exec /usr/sbin/sshd -D -e -p "$GATE_SSH_PORT" -h /root/.ssh/id_rsa \
    -o AuthorizedKeysFile=/root/.ssh/authorized_keys -o StrictModes=no -o PasswordAuthentication=no \
    -o PermitRootLogin=prohibit-password -o MaxStartups=1000
