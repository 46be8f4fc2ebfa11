#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make portable-check` runs: portable/check.sh TARBALL DIR. The tarball in roots of other suites, made by debootstrap in DIR
# the first time (200 MB each), with nothing but their base system and Python: SUITES (default: Debian's oldest and newest in reach),
# each SUITE or SUITE=MIRROR; KEYRING for mirrors other than the system's. Ends with 1 where something does not hold.
set -u
tarball=$1 dir=$2
failed=0

[ "$(id -u)" = 0 ] || { echo "needs root, for roots of other suites" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "needs debootstrap (apt-get install debootstrap)" >&2; exit 3; }
mirror=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | sed -nE 's/^(URIs:|deb) *(\[[^]]*\])? *(http[^ ]*).*/\3/p' | head -1)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# holds WHAT COMMAND...
holds() {
    local what=$1
    shift
    if "$@" >"$dir/log" 2>&1; then
        echo "ok      $suite: $what"
    else
        echo "FAILED  $suite: $what"
        sed 's/^/        /' "$dir/log"
        failed=1
    fi
}

make_root() {
    [ -e "$dir/$suite.made" ] && return
    rm -rf "${dir:?}/$suite"
    echo "making a root of $suite from $1 ..."
    debootstrap --variant=minbase --include=python3 ${KEYRING:+--keyring="$KEYRING"} "$suite" "$dir/$suite" "$1" >"$dir/$suite.log" 2>&1 ||
        { echo "FAILED  $suite: no root (see $dir/$suite.log)"; failed=1; return 1; }
    touch "$dir/$suite.made"
}

# inside CMD...: in the root, as the user $as.
inside() {
    # shellcheck disable=SC2016
    root=$dir/$suite as=$as unshare -m sh -c '
        for d in proc sys dev; do mount --rbind "/$d" "$root/$d" || exit; done
        exec env -i HOME=/tmp PATH=/usr/bin:/bin:/usr/sbin:/sbin chroot --userspec="$as:$as" "$root" "$@"' sh "$@"
}

shows() {
    local re=$1
    shift
    inside "$@" >"$dir/shown" 2>&1 && grep -qE "$re" "$dir/shown" || { cat "$dir/shown"; return 1; }
}

refused() {
    ! inside "$@" >"$dir/shown" 2>&1 && grep -q 'portable wprof writes no' "$dir/shown"
}

try() {
    local wprof=/opt/wprof/bin/wprof out=/tmp/out-$as
    holds "as $as: version" shows '^portable: ' $wprof version
    holds "as $as: doctor" shows '^wprof records here' $wprof doctor
    holds "as $as: record" inside $wprof record -F 199 -o "$out" -- python3 /tmp/busy.py
    holds "as $as: show" shows '^  session ' $wprof show "$out"
    [ "${python_known:-}" = no ] || holds "as $as: Python's frames" shows 'busy' $wprof export --format folded "$out"
    holds "as $as: flame graph" shows '</svg>' $wprof render --format svg -o - "$out"
    holds "as $as: page" shows '</html>' $wprof render --format html -o - "$out"
    holds "as $as: report" shows 'Findings' $wprof report "$out"
    holds "as $as: topology" shows '"nodes"' $wprof topo --format json
    holds "as $as: topology as a picture" shows '</svg>' $wprof topo --seed process --format svg
    holds "as $as: a bitmap is refused" refused $wprof topo --format png
    holds "as $as: manual" shows '^NAME' $wprof help record
}

for suite in ${SUITES:-bullseye sid}; do
    from=${suite#*=} suite=${suite%%=*}
    [ "$from" != "$suite" ] || from=$mirror
    make_root "$from" || continue
    rm -rf "$dir/$suite/opt/wprof" "$dir/$suite"/tmp/out-*
    mkdir -p "$dir/$suite/opt/wprof"
    tar xzf "$tarball" -C "$dir/$suite/opt/wprof" --strip-components 1
    cat >"$dir/$suite/tmp/busy.py" <<'END'
import time


def busy(seconds):
    end, n = time.process_time() + seconds, 0
    while time.process_time() < end:
        n += 1


busy(1)
END
    as=0
    holds "the agent loads into its programs" inside python3 -c 'import ctypes; ctypes.CDLL("/opt/wprof/lib/wprof/libwprof-cuda.so").InitializeInjection'
    python_known=$(inside python3 -c 'import sys; print("yes" if (3, 8) <= sys.version_info[:2] <= (3, 14) else "no")')
    echo "        $suite: glibc $(inside ldd --version | sed -n '1s/.* //p'), $(inside python3 -V)"
    for as in 0 65534; do try; done
done
exit $failed
