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
    diff -r -x meta.json s u
    "$WPROF" -q pack -o again.tar.zst u
    cmp again.tar.zst "$name"
    run -3 "$WPROF" unpack -o u "$name"
    [[ $output == *"is there already"* ]]
    echo more >>u/extra/nötiz.txt
    run -3 "$WPROF" unpack --force -o u "$name" # extra/ is somebody's
    rm -r u/extra
    "$WPROF" unpack --force -o u "$name"
    diff -r -x meta.json s u
    "$WPROF" unpack --force -o u "$name" # what came out of it, and is unchanged, is not missed
    "$WPROF" pack -o - s | "$WPROF" unpack -o piped -
    diff -r u piped
    run -0 --separate-stderr "$WPROF" unpack "$name"
    [[ $output == wprof-in.folded-* ]]
    diff -r u "$output"
}

@test "what lies in extra/ is listed everywhere, travels with checksums, and its damage is seen then" {
    mkdir -p s/extra/sub s/reports
    echo notes >s/extra/note..txt
    echo more >s/extra/sub/more
    echo report >s/reports/page.html
    run -0 "$WPROF" verify s
    [[ $output == "s: whole"*"extra/note..txt "*"no sum"*"extra/sub/more "*"no sum"*"reports/page.html "*"no sum"* ]]
    run -0 "$WPROF" show s
    [[ $output == *"extra/ "*"2 files, 11 B, without a checksum"* ]]
    run -0 --separate-stderr "$WPROF" query -f csv s "SELECT kind, path, size, sha256 IS NULL FROM artifacts WHERE kind = 'extra' ORDER BY path"
    [[ $output == *extra,extra/note..txt,6,1*extra,extra/sub/more,5,1* ]]
    python3 - <<'END'
import json
meta = json.load(open("s/meta.json"))
json.dump({"first": 1.0, **meta, "last": {"unknown": [None]}}, open("s/meta.json", "w"))
END
    printf x >$'s/extra/\xff'
    run -0 "$WPROF" pack -o a.tar.zst s
    [[ $output == *"extra/: 3 files, 12 B; 1 of them without a checksum"* ]]
    run -0 "$WPROF" unpack -o u a.tar.zst
    [[ $output == *"extra/: 3 files, 12 B; 1 of them without a checksum"* ]]
    python3 - <<'END'
import hashlib, json
old, new = json.load(open("s/meta.json")), json.load(open("u/meta.json"))
more = [{"kind": "extra", "path": p, "size": len(t), "sha256": hashlib.sha256(t).hexdigest()}
        for p, t in (("extra/note..txt", b"notes\n"), ("extra/sub/more", b"more\n"))]
assert new["artifacts"] == old["artifacts"] + more, new
assert {**new, "artifacts": 0} == {**old, "artifacts": 0} and list(new) == list(old), new
END
    run -0 "$WPROF" verify u
    [[ $output == *"extra/note..txt "*"whole"* ]]
    echo changed >>u/extra/sub/more
    run -1 --separate-stderr "$WPROF" verify --json u
    python3 -c 'import json, sys
states = {f["path"]: f["state"] for f in json.load(sys.stdin)[0]["files"]}
assert states["extra/note..txt"] == "whole" and states["extra/sub/more"] == "changed" and states["reports/page.html"] == "no sum", states' <<<"$output"
    run -3 "$WPROF" pack -o b.tar.zst u
    [[ $output == *"extra/sub/more is missing or was changed"* ]]
    "$WPROF" show --json u | python3 -c 'import json, sys
assert [(f["path"], f["size"], bool(f["sha256"])) for f in json.load(sys.stdin)["extra"]][:2] == [("extra/note..txt", 6, True), ("extra/sub/more", 5, True)]'
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
