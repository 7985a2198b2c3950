#!/bin/sh
# What a worker of an MPIJob runs: it serves ssh until the MPIJob is deleted, so that mpirun can start ranks on it. The
# MPI operator mounts a key pair at /etc/gate-ssh that only the pods of this MPIJob have. It is the host key too, so a host
# that shows it is one of them.
#
# Needs in the image: sshd.
# Environment: GATE_SSH_PORT.
set -u

mkdir -p /run/sshd
# mpirun starts its daemons in a tree, so a worker calls others as well. A volume's files are open to all in the pod, and
# ssh and sshd take no private key that is.
(umask 077 && cp /etc/gate-ssh/id_rsa /tmp/gate_key)
echo "* $(cat /etc/gate-ssh/id_rsa.pub)" >/tmp/gate_known_hosts
exec /usr/sbin/sshd -D -e -p "$GATE_SSH_PORT" -h /tmp/gate_key \
    -o AuthorizedKeysFile=/etc/gate-ssh/authorized_keys -o StrictModes=no -o PasswordAuthentication=no \
    -o PermitRootLogin=prohibit-password -o MaxStartups=1000
