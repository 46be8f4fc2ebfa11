#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A session in one file, and every command that takes it.
load common
load packed

setup() {
    need_command zstd
    imported_session
}

@test "pack and unpack: the same files, what lies in extra/ too; the same bytes from whoever packs" {
    mkdir s/extra
    echo notes >s/extra/nötiz.txt
    run -0 --separate-stderr "$WPROF" pack s
    name=$output
    [[ $name == *.tar.zst ]]
    touch s/extra/nötiz.txt
    cp -r s copy
    LC_ALL=C TZ=Asia/Tokyo "$WPROF" -q pack -o other.tar.zst copy
    cmp "$name" other.tar.zst
    mkdir copy/extra/more && ln -s nowhere copy/extra/more/link && mkfifo copy/extra/pipe
    run -0 "$WPROF" pack -o third.tar.zst copy
    [[ $output == *"left out, for only regular files travel: extra/more/link, extra/pipe"* ]]
    cmp "$name" third.tar.zst
    tar --zstd -tf "$name" | sed 's|^[^/]*/||' >names
    [ "$(head -2 names)" = $'meta.json\nevents.wlog' ]
    run -0 --separate-stderr "$WPROF" unpack -o u "$name"
    [ "$output" = u ]
    diff -r s u
    run -3 "$WPROF" unpack -o u "$name"
    [[ $output == *"is there already"* ]]
    run -3 "$WPROF" unpack --force -o u "$name" # extra/ is somebody's
    rm -r u/extra
    "$WPROF" unpack --force -o u "$name"
    diff -r s u
    "$WPROF" pack -o - s | "$WPROF" unpack -o piped -
    diff -r s piped
    run -0 --separate-stderr "$WPROF" unpack "$name"
    [[ $output == wprof-in.folded-* ]]
    diff -r s "$output"
}

nothing_is_left() {
    [ -z "$(find "$TMPDIR" . -maxdepth 1 -name 'wprof-unpack*')" ]
}

@test "what an archive was unpacked to goes with the process, whatever ends that" {
    for ((i = 0; i < 9000; i++)); do echo "main;a_function_with_a_long_name_$i;and_another_one_below_it 1"; done >big.folded
    "$WPROF" -q import -o big big.folded
    "$WPROF" -q pack -o big.tar.zst big
    "$WPROF" export big.tar.zst | head -1 >/dev/null # a closed pipe
    until_true 20 nothing_is_left
    for command in "show -" "unpack -"; do
        mkfifo half
        # shellcheck disable=SC2086
        "$WPROF" $command <half >/dev/null 2>&1 3>&- &
        exec 5>half
        head -c 3000 big.tar.zst >&5
        until_true 20 some_is_there
        kill -9 $!
        exec 5>&-
        wait $! || true
        until_true 20 nothing_is_left
        rm half
    done
    "$WPROF" -q unpack -o there big.tar.zst
    [ -e there/meta.json ]
}

some_is_there() {
    not nothing_is_left
}

@test "every command that reads takes the archive, and stdin" {
    "$WPROF" -q pack -o a.tar.zst s
    "$WPROF" export s >expected
    "$WPROF" export a.tar.zst | cmp - expected
    "$WPROF" export - <a.tar.zst | cmp - expected
    cat a.tar.zst | "$WPROF" export - | cmp - expected
    "$WPROF" show a.tar.zst | grep -q 'session *a.tar.zst'
    "$WPROF" report a.tar.zst >/dev/null
    "$WPROF" render -o a.svg -f svg a.tar.zst
    "$WPROF" diff --base a.tar.zst --new s >/dev/null
    "$WPROF" query a.tar.zst 'SELECT count(*) FROM stacks' >/dev/null
    [ -z "$(ls tmp)" ]
}
