#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does wprof record on another kernel? Boots it under qemu, without acceleration, with nothing but wprof and a workload in
# its initial file system, and records that:
#     tests/tools/boot-kernel.sh VMLINUZ|linux-image.deb [WORKLOAD ARGS...]
# A kernel's package comes by `apt-get download linux-image-cloud-amd64` (its dependency names the version). Needs
# qemu-system-x86, busybox-static, cpio. Exit 0: samples arrived, and 98 % of them were unwound to the root.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ $# -ge 1 ] || { sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
kernel=$(realpath "$1")
shift
BUILD=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ $kernel == *.deb ]]; then
    dpkg-deb -x "$kernel" "$work/deb"
    kernel=$(echo "$work"/deb/boot/vmlinuz-*)
fi
if [ $# = 0 ]; then
    make -s -C tests/workloads O="$BUILD/workloads"
    set -- "$BUILD/workloads/split" 3
fi

root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,root}
cp "$(command -v busybox)" "$root/bin/busybox"
for program in "$BUILD/wprof" "$(command -v "$1")"; do
    cp "$program" "$root/bin/"
    { ldd "$program" || true; } | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -n "$library" "$root$library"
    done
done
cat >"$root/init" <<END
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
export HOME=/root PATH=/bin
cd /tmp
/bin/busybox uname -r
/bin/wprof record -o session -- /bin/$(basename "$1") ${*:2} || /bin/wprof -v record -o again -- /bin/$(basename "$1") ${*:2}
/bin/busybox poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd"

timeout "${BOOT_LIMIT:-300}" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,la57=off -m 1024 -smp 2 -nographic \
    -no-reboot -kernel "$kernel" -initrd "$work/initrd" -append "console=ttyS0 quiet panic=1" </dev/null |
    tr -d '\r' | tee "$work/log"
awk '/samples,/ && match($0, /[0-9.]+ % unwound/) { ok = substr($0, RSTART) + 0 >= 98 } END { exit !ok }' "$work/log"
