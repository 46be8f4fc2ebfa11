#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    printf 'a;b;c 1\na;b 2\n' >x
    "$WPROF" import -o s x 2>/dev/null
}

@test "export: to stdout and to a file" {
    "$WPROF" export --format folded s >out
    diff - out <<<$'a;b 2\na;b;c 1'
    "$WPROF" export -o file s
    diff out file
    "$WPROF" export -o - s | diff out -
}

@test "export: the newest session here, and it is said which" {
    printf 'new 1\n' | "$WPROF" import -o t -
    touch -d '1 hour ago' s/meta.json
    run -0 --separate-stderr "$WPROF" export
    [ "$output" = "new 1" ]
    [[ $stderr == *"session: t"* ]]
    cd s
    run -0 --separate-stderr "$WPROF" export
    [ "${lines[0]}" = "a;b 2" ]
}

@test "export: what cannot be had" {
    run -3 --separate-stderr "$WPROF" export --metric offcpu s
    [[ $stderr == *"no metric 'offcpu'"*"it has: oncpu"* ]]
    run -2 "$WPROF" export --format nonsense s
    run -2 "$WPROF" export s s
    run -3 "$WPROF" export -o no/such/dir/file s
    run -3 "$WPROF" export -f aiprof -m oncpu -o ai s
    [[ $output == *"for profiles"* ]]
    run -3 "$WPROF" export -f aiprof --pids -o ai s
    [[ $output == *"fixed"* && ! -e ai ]]
    run -3 "$WPROF" export nowhere
    run -3 --separate-stderr "$WPROF" export .
    [[ $stderr == *"folder of 1 session"*" s"* ]]
    run -3 --separate-stderr "$WPROF" export x
    [[ $stderr == *"x is a file"* ]]
    mkdir empty && cd empty
    run -3 --separate-stderr "$WPROF" export
    [[ $stderr == *"no session in the current directory"* ]]
}

@test "export: a full disk is no success" {
    [ -w /dev/full ] || skip "needs /dev/full"
    run -3 "$WPROF" export -o /dev/full s
    run -3 bash -c '"$WPROF" export s >/dev/full'
}

@test "export: damaged sessions give what is whole, or a clear refusal" {
    size=$(stat -c %s s/events.wlog)
    cp -r s cut
    truncate -s $((size - 3)) cut/events.wlog
    run -0 --separate-stderr "$WPROF" export cut
    [[ $output == *"a;b;c 1"* ]]
    [[ $stderr == *"sealed, but events.wlog is damaged after"*"the first 3 samples are shown"* ]]
    cp -r s newer
    printf '\2' | dd of=newer/events.wlog bs=1 seek=8 conv=notrunc status=none
    run -3 --separate-stderr "$WPROF" export newer
    cp -r s other
    echo "something else entirely" >other/events.wlog
    run -3 --separate-stderr "$WPROF" export other
    [[ $stderr == *"not a wprof log"* ]]
    cp -r s nometa
    rm nometa/meta.json
    run -3 --separate-stderr "$WPROF" export nometa
    [[ $stderr == *"no session"* ]]
    cp -r s badmeta
    echo '{' >badmeta/meta.json
    run -3 --separate-stderr "$WPROF" export badmeta
    cp -r s nolog
    rm nolog/events.wlog
    run -3 --separate-stderr "$WPROF" export nolog
    [[ $stderr == *"no events.wlog"* ]]
}
