#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does wprof record on another kernel? Boots it under qemu, without acceleration, with nothing but wprof, busybox and the
# workloads in its initial file system, and records there:
#     tests/tools/boot-kernel.sh [-u] VMLINUZ|linux-image.deb [WORKLOAD ARGS...]
# as root, which has to unwind 98 % of the samples to the root; with -u also as an ordinary user, whose `wprof doctor` has to
# tell the truth about that kernel and whose recordings have to have the known shares and waits, by whatever tier it says.
# A kernel's package comes by `apt-get download` (make kernels). Needs qemu-system-x86, busybox-static, cpio. Exit 0: all held.
set -euo pipefail
cd "$(dirname "$0")/../.."

user=
[ "${1:-}" != -u ] || { user=1; shift; }
[ $# -ge 1 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
kernel=$(realpath "$1")
shift
BUILD=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# program FILE: into /bin there, with its libraries.
program() {
    cp -L "$1" "$root/bin/"
    { ldd "$1" || true; } | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -n "$library" "$root$library"
    done
}

# python FILE: that interpreter as /bin/python3, with what the workload imports.
python() {
    program "$1"
    ln -s "$(basename "$1")" "$root/bin/python3"
    "$1" -S -E -c 'import encodings.ascii, encodings.latin_1, sys, threading, time
print(*[m.__file__ for m in sys.modules.values() if getattr(m, "__file__", None)], sep="\n")' | while read -r file; do
        mkdir -p "$root$(dirname "$file")"
        cp "$file" "$root$file"
    done
    cp tests/workloads/split.py "$root/"
}

if [[ $kernel == *.deb ]]; then
    dpkg-deb -x "$kernel" "$work/deb"
    kernel=$(echo "$work"/deb/boot/vmlinuz-*)
fi
make -s -C tests/workloads O="$BUILD/workloads"
[ $# != 0 ] || set -- "$BUILD/workloads/split" 3

mkdir -p "$root"/{bin,proc,sys,dev,tmp,root,etc}
cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh su cat; do
    ln -s busybox "$root/bin/$name"
done
echo 'root:x:0:0:root:/root:/bin/sh
nobody:x:65534:65534:nobody:/tmp/user:/bin/sh' >"$root/etc/passwd"
program "$BUILD/wprof"
program "$(command -v "$1")"
program "$BUILD/workloads/wait_one"
[ -z "$user" ] || python "$(readlink -f "$(command -v /usr/bin/python3 || command -v python3)")"

cat >"$root/init" <<END
#!/bin/sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
export HOME=/root PATH=/bin
cd /tmp
/bin/busybox uname -r
wprof record -o session -- $(basename "$1") ${*:2} || wprof -v record -o again -- $(basename "$1") ${*:2}
[ -z "$user" ] || { /bin/busybox mkdir -m 777 user && su nobody -c '. /as_user'; }
/bin/busybox poweroff -f
END
# What the user's part prints is cut at the @@ lines.
cat >"$root/as_user" <<'END'
cd /tmp/user
echo @@paranoid; cat /proc/sys/kernel/perf_event_paranoid
echo @@doctor; wprof doctor --json 2>/dev/null
echo @@said; wprof record -F 199 -o py -- python3 -S -E /split.py 3; echo "exit $?"
echo @@meta; cat py/meta.json
echo @@split; wprof export --format folded py
wprof record -q -o waits -- wait_one sleep 50 20 >took
echo @@took; cat took
echo @@waits; wprof export --metric offcpu waits
echo @@end
END
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd"

timeout "${BOOT_LIMIT:-300}" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,la57=off -m 1024 -smp 2 -nographic \
    -no-reboot -kernel "$kernel" -initrd "$work/initrd" -append "console=ttyS0 quiet panic=1" </dev/null |
    tr -d '\r' | tee "$work/log"
awk '/samples,/ && match($0, /[0-9.]+ % unwound/) { ok = substr($0, RSTART) + 0 >= 98; exit } END { exit !ok }' "$work/log"
[ -z "$user" ] || python3 tests/tools/boot-kernel-user.py "$work/log"
