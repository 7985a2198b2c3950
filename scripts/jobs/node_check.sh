#!/bin/sh
# Looks at one node and prints what it saw; judges nothing (scripts/node does, docs/captures.md describes the form). Runs in
# the check pod, which holds all GPUs and EFA devices of its node, and needs the capability SYSLOG for the kernel log; or on
# the node itself (yard node capture), where it also asks systemd and chrony.
#
#   node_check.sh               every section, as a stream
#   node_check.sh NAME…         these sections only
#   node_check.sh --list        the name of each section and the seconds that it may take
#   node_check.sh --raw NAME    the output of one section's command as it is, with its exit code; 127: its tool is missing
#
# Environment: CHECK_ONLY has NAMEs where no arguments can be given. CHECK_DCGM is the level of DCGM's diagnostics to run (1 to
# 4; needs idle GPUs), CHECK_DCGM_SECONDS how long they may take; without a level there are none. CHECK_NVLINKS tells them how
# many NVLinks a GPU has.
#
# The stream:
#   #@ trainyard-node-check 1       first line: the format's version
#   #@ begin NAME
#   | a line of the command's output, standard error included
#   #@ end NAME rc=N                it ended with exit code N …
#   #@ end NAME missing             … or its tool is not there
#   #@ end NAME timeout             … or it hung and was killed
#   #@ done NAME=N NAME=M …         last line: how many lines each section must have
# A section that begins and does not end hung in a way that no signal ends.

LC_ALL=C
PATH=$PATH:/opt/amazon/efa/bin:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH

run() {
    name=$1
    limit=$2
    shift 2
    case ${mode:-all} in
        list) echo "$name $limit" && return ;;
        raw | some) case " $wanted " in *" $name "*) ;; *) return ;; esac ;;
    esac
    if [ "${mode:-all}" = raw ]; then
        command -v "$1" >/dev/null 2>&1 || exit 127
        exec "$@"
    fi
    echo "#@ begin $name"
    if ! command -v "$1" >/dev/null 2>&1; then
        counts="${counts:-} $name=0"
        echo "#@ end $name missing"
        return
    fi
    out=$(timeout -k 5 "$limit" "$@" 2>&1)
    rc=$?
    lines=0
    if [ -n "$out" ]; then
        printf '%s\n' "$out" | sed 's/^/| /'
        lines=$(printf '%s\n' "$out" | wc -l)
    fi
    counts="${counts:-} $name=$((lines))"
    case $rc in
        124 | 137) echo "#@ end $name timeout" ;;
        127) echo "#@ end $name missing" ;;
        *) echo "#@ end $name rc=$rc" ;;
    esac
}

mode=all
wanted=
counts=
case ${1:-} in
    --list) mode=list ;;
    --raw) mode=raw wanted=${2:-} ;;
    ?*) mode=some wanted=$* ;;
    *) [ -z "${CHECK_ONLY:-}" ] || mode=some wanted=$CHECK_ONLY ;;
esac

[ $mode = list ] || [ $mode = raw ] || echo "#@ trainyard-node-check 1"

run scope 5 sh -c 'if [ -d /run/systemd/system ]; then echo host; else echo pod; fi'
run machine 5 sh -c '
    for fact in product_name board_asset_tag; do
        echo "$fact: $(cat /sys/class/dmi/id/$fact 2>/dev/null || echo -)"
    done'
run gpus 60 nvidia-smi \
    --query-gpu=index,name,uuid,serial,pci.bus_id,driver_version,vbios_version --format=csv,noheader
# The first four bytes are read from the device: what has fallen off the bus answers ff to all.
run pci 20 sh -c '
    cd /sys/bus/pci/devices || exit
    for device in *; do
        [ "$(cat "$device/vendor")" = 0x10de ] || continue
        id=$(od -An -tx1 -N4 "$device/config" | tr -d " \n")
        echo "$device device=$(cat "$device/device") class=$(cat "$device/class") id=$id numa=$(cat "$device/numa_node")"
    done'
run ecc 60 nvidia-smi -q -d ECC
run remapped 60 nvidia-smi --format=csv,noheader \
    --query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure,remapped_rows.uncorrectable
run retired 60 nvidia-smi --format=csv,noheader \
    --query-gpu=index,retired_pages.pending,retired_pages.sbe,retired_pages.dbe
run settings 60 nvidia-smi --format=csv,noheader \
    --query-gpu=index,persistence_mode,mig.mode.current,power.limit,clocks.max.sm,temperature.gpu
# Drivers before 535 know the second name only.
run throttle 60 sh -c '
    nvidia-smi --query-gpu=index,clocks_event_reasons.active --format=csv && exit
    nvidia-smi --query-gpu=index,clocks_throttle_reasons.active --format=csv'
run pcie 60 nvidia-smi --format=csv,noheader \
    --query-gpu=index,pcie.link.width.current,pcie.link.width.max,pcie.link.gen.current,pcie.link.gen.max
run nvlink 60 nvidia-smi nvlink -s
run nvlink-errors 60 nvidia-smi nvlink -e
run topology 60 nvidia-smi topo -m
run fabric 60 nvidia-smi -q
# The kernel's buffer begins with the last boot. The count of lines tells "nothing found" from "nothing read".
run kernel-log 20 sh -c '
    log=$(dmesg) || exit
    printf "%s\n" "$log" | grep -E "NVRM|Xid|limited by .* PCIe" || :
    printf "%s\n" "$log" | wc -l | sed "s/^ */lines read: /"'
# PCI functions, not ibv_devices or fi_info: those list some devices twice or more than can be used.
run efa 20 sh -c '
    cd /sys/bus/pci/devices || exit
    for device in *; do
        [ "$(cat "$device/vendor")" = 0x1d0f ] || continue
        case $(cat "$device/device") in 0xefa*) echo "$device $(cat "$device/device")" ;; esac
    done'
run provider 30 fi_info -p efa -t FI_EP_RDM
run efa-counters 20 sh -c '
    cd /sys/class/infiniband || exit
    for name in rx_drops retrans_timeout_events unresponsive_remote_events impaired_remote_conn_events \
        rdma_read_wr_err rdma_write_wr_err retrans_pkts retrans_bytes; do
        for file in */ports/*/hw_counters/$name; do
            [ -e "$file" ] && echo "$file $(cat "$file")"
        done
    done
    :'
run modules 5 sh -c '
    cut -d" " -f1 /proc/modules || exit
    for device in /dev/infiniband/uverbs*; do
        [ -e "$device" ] && echo "device ${device##*/}"
    done
    :'
run memlock 5 sh -c 'ulimit -l'
run meminfo 5 cat /proc/meminfo
run mtu 5 sh -c '
    for link in /sys/class/net/*; do
        driver=$(readlink "$link/device/driver") || driver=-
        echo "${link##*/} $(cat "$link/mtu") $(cat "$link/operstate") ${driver##*/}"
    done'
run numa 5 sh -c '
    for node in /sys/devices/system/node/node[0-9]*; do
        cpus=$(cat "$node/cpulist")
        echo "${node##*/} ${cpus:--} $(cat "$node/distance")"
    done
    echo "online $(cat /sys/devices/system/cpu/online)"'
run kernel 5 uname -r
run sysctl 5 sh -c '
    for name in kernel/numa_balancing net/core/rmem_max vm/max_map_count fs/file-max; do
        echo "$name $(cat /proc/sys/$name 2>/dev/null || echo -)"
    done
    echo "clocksource $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null || echo -)"
    governor=$(cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor 2>/dev/null | sort -u | tr "\n" " ")
    echo "governor ${governor:--}"'
run nvme 10 sh -c '
    for disk in /sys/block/nvme*; do
        [ -e "$disk/size" ] && echo "${disk##*/} $(cat "$disk/size") $(cat "$disk/device/model")"
    done
    :'
run disks 20 df -P -k
run mounts 5 cat /proc/self/mountinfo
run lustre 20 sh -c '
    for file in /proc/fs/lustre/[mo][ds]c/*/*_server_uuid /sys/fs/lustre/[mo][ds]c/*/*_server_uuid; do
        [ -r "$file" ] && echo "${file##*/} $(cat "$file")"
    done
    :'
# Without a token. From a pod there is no answer at all where the hop limit is 1: 000.
run imds 10 sh -c '
    command -v curl >/dev/null || exit 127
    curl -s -o /dev/null --noproxy "*" -m 3 -w "%{http_code}\n" http://169.254.169.254/latest/meta-data/ || :'
run efa-driver 5 cat /sys/module/efa/version
run versions 10 sh -c '
    head -n 1 /opt/amazon/efa_installed_packages
    fi_info --version
    grep PRETTY_NAME /etc/os-release
    :'
if [ -d /run/systemd/system ]; then
    run fabric-manager 10 systemctl is-active nvidia-fabricmanager
    run clock 10 chronyc tracking
fi
if [ -n "${CHECK_DCGM:-}" ]; then
    run dcgm "${CHECK_DCGM_SECONDS:-900}" sh -c '
        command -v dcgmi >/dev/null || exit 127
        dcgmi discovery -l >/dev/null 2>&1 || nv-hostengine >/dev/null 2>&1
        dcgmi diag -r "$CHECK_DCGM" -j ${CHECK_NVLINKS:+-p pcie.gpu_nvlinks_expected_up=$CHECK_NVLINKS}'
fi

case $mode in
    raw) exit 127 ;;
    all | some) echo "#@ done$counts" ;;
esac
