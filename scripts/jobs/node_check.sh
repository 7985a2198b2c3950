#!/bin/sh
# Looks at one node and prints what it saw; judges nothing (scripts/node does). Runs in the check pod, which holds all
# GPUs and EFA devices of its node, and needs the capability SYSLOG for the kernel log.
#
# Output, one section a check:
#   #@ trainyard-node-check 1       first line: the format's version
#   #@ begin NAME
#   | a line of the command's output, standard error included
#   #@ end NAME rc=N                it ended with exit code N …
#   #@ end NAME missing             … or its tool is not there
#   #@ end NAME timeout             … or it hung and was killed
#   #@ done                         last line: nothing was cut off
# A section that begins and does not end hung in a way that no signal ends.

run() {
    name=$1
    limit=$2
    shift 2
    echo "#@ begin $name"
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "#@ end $name missing"
        return
    fi
    out=$(timeout -k 5 "$limit" "$@" 2>&1)
    rc=$?
    if [ -n "$out" ]; then
        printf '%s\n' "$out" | sed 's/^/| /'
    fi
    case $rc in
        124 | 137) echo "#@ end $name timeout" ;;
        127) echo "#@ end $name missing" ;;
        *) echo "#@ end $name rc=$rc" ;;
    esac
}

echo "#@ trainyard-node-check 1"

run gpus 60 nvidia-smi \
    --query-gpu=index,name,uuid,serial,pci.bus_id,driver_version,vbios_version --format=csv,noheader
run ecc 60 nvidia-smi -q -d ECC
run remapped 60 nvidia-smi --format=csv,noheader \
    --query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure,remapped_rows.uncorrectable
# Drivers before 535 know the second name only.
run throttle 60 sh -c '
    nvidia-smi --query-gpu=index,clocks_event_reasons.active --format=csv && exit
    nvidia-smi --query-gpu=index,clocks_throttle_reasons.active --format=csv'
run nvlink 60 nvidia-smi nvlink -s
run fabric 60 nvidia-smi -q
# The kernel's buffer begins with the last boot. The count of lines tells "nothing found" from "nothing read".
run kernel-log 20 sh -c '
    log=$(dmesg) || exit
    printf "%s\n" "$log" | grep -E "NVRM|Xid" || :
    printf "%s\n" "$log" | wc -l | sed "s/^ */lines read: /"'
# PCI functions, not ibv_devices or fi_info: those list some devices twice or more than can be used.
run efa 20 sh -c '
    cd /sys/bus/pci/devices || exit
    for device in *; do
        [ "$(cat "$device/vendor")" = 0x1d0f ] || continue
        case $(cat "$device/device") in 0xefa*) echo "$device $(cat "$device/device")" ;; esac
    done'
run memlock 5 sh -c 'ulimit -l'
run meminfo 5 cat /proc/meminfo
run kernel 5 uname -r
run efa-driver 5 cat /sys/module/efa/version

echo "#@ done"
