#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Makefile: builds without the optional libraries, what is built again and what is not, installing.
load common

setup_file() {
    load common
    export SMALL=$BATS_FILE_TMPDIR/small
    make_small
}

# Our own make: what the caller's make was told must not reach it.
make_small() {
    env -u MAKEFLAGS -u MAKELEVEL -u SAN make -s -j2 -C "$ROOT" O="$SMALL" CFLAGS=-O0 NO_PFM=1 NO_LZMA=1 NO_BPF=1 NO_GRAPHVIZ=1 NO_CMARK=1 NO_SQLITE=1 NO_ARCHIVE=1 NO_CURL=1 "$@"
}

@test "a build without the optional libraries works, and says so" {
    run -0 "$SMALL/wprof" version
    for f in pfm lzma bpf graphviz; do
        grep -qE "^  $f +no " <<<"$output"
    done
    run -0 "$SMALL/wprof" events clock
    [[ $output == *cpu-clock* ]]
    run -125 "$SMALL/wprof" record --tier A -o "$BATS_TEST_TMPDIR/s" -- true
    [[ $output == *"built without BPF"* ]]
    run -0 "$SMALL/wprof" topo --without-source pipe
    [[ $output == *"Process(pid="* ]]
    run -3 "$SMALL/wprof" topo --format svg
    [[ $output == *"built without Graphviz"* ]]
    "$SMALL/wprof" topo --format mermaid | grep -q '^flowchart LR'
    "$SMALL/wprof" topo --format drawio --layout constraint | grep -q '</mxfile>'
    if command -v ldd >/dev/null; then
        ldd "$SMALL/wprof" | not grep -E 'libpfm|libbpf|libcgraph|libgvc|libsqlite|libarchive'
    fi
}

@test "nothing is built twice; another version is built again" {
    make_small
    touch "$BATS_TEST_TMPDIR/then"
    make_small
    [ -z "$(find "$SMALL" -newer "$BATS_TEST_TMPDIR/then" -name '*.o')" ]
    make_small VERSION=9.9.9
    run -0 "$SMALL/wprof" version
    [ "${lines[0]}" = "wprof 9.9.9" ]
}

@test "make install: program, pages, completions" {
    D=$BATS_TEST_TMPDIR/root
    make_small install DESTDIR="$D" PREFIX=/usr
    [ -x "$D/usr/bin/wprof" ]
    [ -s "$D/usr/share/bash-completion/completions/wprof" ]
    [ -s "$D/usr/share/zsh/site-functions/_wprof" ]
    [ -s "$D/usr/share/fish/vendor_completions.d/wprof.fish" ]
    if command -v cmark >/dev/null; then
        grep -q '^.TH "WPROF-VERSION" "1"' "$D/usr/share/man/man1/wprof-version.1"
    fi
    run -0 "$D/usr/bin/wprof" version
}

@test "make deps is silent where nothing is missing" {
    run -0 env -u MAKEFLAGS make -s -C "$ROOT" deps
    [ -z "$output" ]
}
