#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The tarball of `make portable`: what is in it, and that it runs where nothing else is. `make portable-check` runs it in other
# suites of Debian, too.
load common

# Of the present build, unpacked once. Our own make: what the caller's make was told must not reach it.
setup_file() {
    load common
    export P=$BATS_FILE_TMPDIR MISSING=
    [[ $("${CC:-cc}" -print-file-name=libc.a) == /* ]] || MISSING='a static C library'
    ! ldd "$BUILD/wprof" | grep -qE 'lib(a|ub)san' || MISSING='a build without sanitizers'
    [ -z "$MISSING" ] || return 0
    pack "$P" >"$P/pack.log" 2>&1 || { cat "$P/pack.log"; return 1; }
    TARBALL=$(echo "$P"/wprof-*.tar.gz)
    export TARBALL
    tar xzf "$TARBALL" -C "$P"
    mv "$P"/wprof-*-linux-x86_64 "$P/root"
    "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -static -o "$P/recurse" "$ROOT/tests/workloads/recurse.c"
}

setup() {
    [ -z "$MISSING" ] || skip "needs $MISSING"
    cd "$BATS_TEST_TMPDIR" || return
    PORTABLE=$P/root/bin/wprof
}

pack() {
    env -u MAKEFLAGS -u MAKELEVEL -u SAN SOURCE_DATE_EPOCH=1700000000 make -s -C "$ROOT" O="$BUILD" portable-pack PACKED="$1"
}

# inside CMD...: in a root that has the unpacked tarball as /w, a program and what the kernel gives, and nothing else.
inside() {
    # shellcheck disable=SC2016
    env -i "PATH=$PATH" timeout 60 unshare -m sh -c 'cd "$0" || exit
        for d in proc sys dev; do mount --rbind /$d $d || exit; done
        exec chroot . "$@"' "$PWD/empty" "$@"
}

make_empty() {
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "needs root, for a root of its own"
    mkdir -p empty/proc empty/sys empty/dev empty/s empty/var/tmp
    cp -r "$P/root" empty/w
    cp "$P/recurse" empty/
}

@test "the tarball: 30 MB at most, its sum, nobody's files, the same bytes again" {
    [ "$(stat -c %s "$TARBALL")" -le 30000000 ] || { tar tzvf "$TARBALL" | sort -k3 -n | tail; return 1; }
    (cd "$P" && sha256sum -c --quiet ./*.sha256)
    [ "$(tar tzvf "$TARBALL" | awk '{ print $2 }' | sort -u)" = 0/0 ]
    tar tzf "$TARBALL" >names
    diff names <(LC_ALL=C sort names)
    mkdir again
    pack "$PWD/again"
    cmp "$TARBALL" again/*.tar.gz
    not grep -raF -e "$ROOT/bpf/" -e "$ROOT/src/" -e "$ROOT/./" "$P/root" # where it was built is nobody's business
}

@test "the tarball: everything that is loaded is in it, with its licence; pages, completions, what measures GPUs" {
    cd "$P/root"
    for f in lib/wprof/*.so* lib/wprof/graphviz/*.so*; do
        [ "${f##*/}" != libwprof-cuda.so ] || continue
        read -r _ package version < <(grep -F "${f#lib/wprof/} " share/doc/wprof/licences/LIST)
        [ "$package" = of ] || { [ -n "$version" ] && [ -s "share/doc/wprof/licences/$package" ]; } || { echo "$f: $package"; return 1; }
    done
    # the launcher needs nothing, the program nothing from elsewhere
    readelf -lW bin/wprof | not grep -q INTERP
    lib/wprof/ld-linux-x86-64.so.2 --library-path "$PWD/lib/wprof" --list lib/wprof/wprof >"$BATS_TEST_TMPDIR/list"
    grep '=>' "$BATS_TEST_TMPDIR/list" | not grep -vE "=> ($PWD/)?lib/wprof/"
    [ -s README.txt ] && [ -s LICENSE ] && [ -s lib/wprof/libwprof-cuda.so ] && [ -s share/bash-completion/completions/wprof ]
    ! command -v cmark >/dev/null || [ -s share/man/man1/wprof-record.1 ]
    cmp tests/gpu/device.sh "$ROOT/tests/gpu/device.sh"
}

@test "in an empty root: version, record, show, render, report, topology, help" {
    make_empty
    mkdir empty/etc
    echo /of/the/host.so >empty/etc/ld.so.preload # for its C library, not for ours
    run -0 inside /w/bin/wprof version
    [[ $output != *host.so* ]]
    [[ ${lines[2]} =~ ^portable:\ .*build\ id\ [0-9a-f]+,\ libraries\ of ]]
    inside /w/bin/wprof record -F 499 -o /s/1 -- /recurse 30 0.5
    inside /w/bin/wprof show /s/1 | grep -q 'Functions by self'
    if "$WPROF" show --json empty/s/1 | grep -q '"tier": "[AB]"'; then
        inside /w/bin/wprof export --format folded /s/1 | grep -q 'recurse;recurse;.*bottom'
    fi
    inside /w/bin/wprof render --format svg -o /s/1.svg /s/1
    grep -q '</svg>' empty/s/1.svg
    inside /w/bin/wprof render --format html -o /s/1.html /s/1
    grep -q '</html>' empty/s/1.html
    inside /w/bin/wprof report /s/1 | grep -q recurse
    if "$WPROF" version | grep -qE '^ +archive +yes'; then
        inside /w/bin/wprof pack -o /s/1.tar.zst /s/1
        inside /w/bin/wprof show /s/1.tar.zst | grep -q 'Functions by self'
    fi
    inside /w/bin/wprof doctor | grep -q '^wprof records here'
    ! command -v cmark >/dev/null || inside /w/bin/wprof help record | grep -q '^NAME'
}

@test "in an empty root: the topology and its pictures; PNG is said to be missing" {
    make_empty
    "$WPROF" version | grep -qE '^ +graphviz +yes' || skip "needs Graphviz"
    inside /w/bin/wprof topo --format json >t.json
    python3 -c 'import json; assert json.load(open("t.json"))["nodes"]'
    for layout in default gephi; do # by two of Graphviz's plugins
        inside /w/bin/wprof topo --seed process --format svg --layout "$layout" >t.svg
        grep -q '</svg>' t.svg
    done
    run -3 inside /w/bin/wprof topo --format png
    [[ $output == *"portable wprof writes no png"* ]]
}

@test "the command gets the environment as it is; nothing of ours, nothing preloaded into us" {
    # what a preloaded library would be: one that tells whom it is loaded into
    echo '#include <errno.h>
#include <unistd.h>
__attribute__((constructor)) static void told(void) {
    const char *s = program_invocation_short_name;
    while (*s) if (write(2, s++, 1) < 0) _exit(1);
    if (write(2, " has it\n", 8) < 0) _exit(1);
}' | "${CC:-cc}" -D_GNU_SOURCE -shared -fPIC -x c -o told.so -
    cat >show.py <<'PY'
import os
for k in sorted(os.environ):
    if not k.startswith(("WPROF_", "CUDA_INJ", "NVTX_INJ")) and k != "_":
        print(k + "=" + os.environ[k])
PY
    export LD_PRELOAD=$PWD/told.so LD_LIBRARY_PATH=$PWD/none:/nowhere: LD_BIND_NOW=yes GVBINDIR=/theirs A=b
    "$(command -v python3)" show.py >bare 2>/dev/null
    "$PORTABLE" record -q -o s -- "$(command -v python3)" show.py >out 2>err
    unset LD_PRELOAD LD_BIND_NOW
    diff bare out
    grep -q '^python3.* has it' err
    not grep -q '^\(wprof\|ld-linux\)' err
    # neither does what we start for ourselves
    "$PORTABLE" render --format svg -o s.svg s
}

@test "what --sudo starts is the launcher" {
    unshare -U true 2>/dev/null || skip "needs a user namespace, where nobody is root"
    mkdir bin
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho "$*" >>"%s/asked"\nexit 1\n' "$PWD" >bin/sudo
    chmod +x bin/sudo
    PATH=$PWD/bin:$PATH run ! unshare -U "$PORTABLE" record --sudo -o s -- true
    grep -qF -- "-- $PORTABLE " asked
}

@test "the agent's path is whole; a link to the launcher serves; version tells of what it was built" {
    mkdir bin
    # shellcheck disable=SC2016
    "$PORTABLE" record -q --collect cpu,gpu -o s -- sh -c 'test -r "$CUDA_INJECTION64_PATH" && echo "$CUDA_INJECTION64_PATH"' >agent
    [ "$(realpath "$(cat agent)")" = "$P/root/lib/wprof/libwprof-cuda.so" ]
    # by a link in PATH
    ln -s "$PORTABLE" bin/wprof
    PATH=$PWD/bin:$PATH run -0 wprof version
    [[ $output == *portable:* ]]
    [ "$(PATH=$PWD/bin:$PATH wprof version --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["portable"])')" = "$(cat "$P/root/lib/wprof/portable")" ]
    "$WPROF" version | not grep -q portable:
}

# nvidia FILE [LIBRARY...]: the fake of NVIDIA's library as FILE.
nvidia() {
    local to=$1
    shift
    mkdir -p "$(dirname "$to")"
    "${CC:-cc}" -shared -fPIC -O1 -Wall -Wl,--no-as-needed -o "$to" "$ROOT/tests/fakes/nvml.c" "$@"
}

@test "the host's management library is loaded by our C library; one that needs a newer one is said" {
    nvidia old/libnvidia-ml.so.1 -lpthread -ldl
    LD_LIBRARY_PATH=$PWD/old "$PORTABLE" topo --format json --seed nvidia --hops 0 >t.json
    grep -q 'GPU(id=0,pci_bus_id=0000:1a:00.0)' t.json
    # one that was built for a C library of the future
    mkdir future
    echo 'void of_the_future(void) {}' | "${CC:-cc}" -shared -fPIC -nostdlib -x c -Wl,-soname,libc.so.6 \
        -Wl,--version-script=<(echo 'GLIBC_9.99 { of_the_future; };') -o future/libc.so.6 -
    echo 'void of_the_future(void); void needed(void); void needed(void) { of_the_future(); }' >needs.c
    nvidia new/libnvidia-ml.so.1 needs.c future/libc.so.6
    LD_LIBRARY_PATH=$PWD/new "$PORTABLE" topo --format json --seed nvidia >t.json 2>err
    grep -q "cannot be loaded: .*GLIBC_9.99' not found" t.json
    LD_LIBRARY_PATH=$PWD/new "$PORTABLE" record -q --tier C --collect metrics -o s -- true
    grep -q "cannot be loaded: .*GLIBC_9.99' not found" s/meta.json
}

@test "a folder that is not whole, or whose name the loader would misread, is said" {
    cp -r "$P/root" part
    rm part/lib/wprof/ld-linux-x86-64.so.2
    fails 125 part/bin/wprof version
    says 'was the whole tarball unpacked'
    mkdir a:b
    cp -r "$P/root/bin" a:b/bin
    fails 125 a:b/bin/wprof version
    says "must not contain"
}

@test "tests/gpu/device.sh of the tarball finds its wprof, and says where there is no GPU" {
    command -v python3 >/dev/null && ! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
        skip "needs python3, and no GPU"
    OUT=$PWD/out run -3 "$P/root/tests/gpu/device.sh"
    [[ $output == *"nothing was measured"* ]]
    run -3 "$P/root/tests/gpu/device.sh" "$PWD/none"
    [[ $output == *"there is no program $PWD/none"* ]]
}
