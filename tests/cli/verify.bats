#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is whole, what is damaged, and what is saved of it.
load common
load packed

setup() {
    imported_session
}

# As a recording has it: folded.txt beside the log, listed with its sum.
add_folded() {
    "$WPROF" export "$1" >"$1/folded.txt"
    python3 - "$1" <<'END'
import hashlib, json, sys
text, path = open(sys.argv[1] + "/folded.txt", "rb").read(), sys.argv[1] + "/meta.json"
meta = json.load(open(path))
meta["artifacts"].append({"kind": "folded", "path": "folded.txt", "size": len(text), "sha256": hashlib.sha256(text).hexdigest()})
json.dump(meta, open(path, "w"))
END
}

@test "verify: whole, damaged, --json, --repair" {
    add_folded s
    run -0 "$WPROF" verify s
    [[ $output == "s: whole"* && $output == *"events.wlog "*"whole"* ]]
    cp -r s bad
    # one byte in the payload of the block of events, type 8
    python3 - bad/events.wlog <<'END'
import struct, sys
log, at = bytearray(open(sys.argv[1], "rb").read()), 16
while at < len(log):
    kind, stored = struct.unpack_from("<H", log, at + 4)[0], struct.unpack_from("<I", log, at + 12)[0]
    if kind == 8:
        log[at + 24] ^= 1
    at += 24 + stored
open(sys.argv[1], "wb").write(log)
END
    run -1 "$WPROF" verify s bad
    [[ $output == *"bad: damaged"*"1 damaged block of events"*"events.wlog "*"changed"* ]]
    run -1 --separate-stderr "$WPROF" verify --json bad
    python3 -c 'import json, sys
[x] = json.load(sys.stdin)
assert not x["whole"] and x["lost_blocks"] == 1 and {"path": "events.wlog", "state": "changed"} in x["files"], x' <<<"$output"
    "$WPROF" verify --repair bad
    run -0 "$WPROF" verify bad-repaired
    "$WPROF" show --json bad-repaired | grep -q "repaired: 0 events"
    diff bad-repaired/folded.txt s/folded.txt # it has what the log lost
    rm -rf cut && cp -r s cut
    truncate -s -12 cut/events.wlog # its end block
    run -1 "$WPROF" verify cut
    "$WPROF" verify --repair -o mended cut
    run -0 "$WPROF" verify mended
    diff <("$WPROF" export s) <("$WPROF" export mended)
    run -3 "$WPROF" verify --repair -o mended cut
    [[ $output == *"--force"* ]]
    run -0 "$WPROF" verify --repair s
    [[ $output == *"nothing is to be repaired"* ]]
    run -2 "$WPROF" verify -o x s
}

@test "verify: no log at all, or another file in its place: what else is whole is saved" {
    add_folded s
    "$WPROF" export s >want
    for how in missing other directory first; do
        rm -rf bad bad-repaired && cp -r s bad
        case $how in
        first) printf X | dd of=bad/events.wlog bs=1 conv=notrunc status=none ;;
        *) rm bad/events.wlog ;;
        esac
        case $how in
        other) echo no log >bad/events.wlog ;;
        directory) mkdir bad/events.wlog ;;
        esac
        run -1 "$WPROF" verify bad
        [[ $output == "bad: damaged"*"events.wlog"*"folded.txt "*"whole"* ]] || { echo "$how: $output"; false; }
        run -0 "$WPROF" verify --repair bad
        [[ $output == *"events are lost"*"folded.txt"*"wprof import -o DIR bad-repaired/folded.txt"* ]]
        diff bad-repaired/folded.txt s/folded.txt
        run -0 "$WPROF" verify bad-repaired
        rm -rf again && "$WPROF" -q import -o again bad-repaired/folded.txt
        diff <("$WPROF" export again) want
    done
    rm bad/folded.txt
    run -3 "$WPROF" verify --repair -o none bad
    [[ $output == *"nothing of it can be saved"* ]]
    [ ! -e none ]
}

@test "verify: an archive of a damaged session" {
    mkdir packed
    cp -r s packed/s
    truncate -s -12 packed/s/events.wlog
    tar -C packed -cf - s | zstd -q >bad.tar.zst
    run -3 "$WPROF" show bad.tar.zst
    run -1 "$WPROF" verify bad.tar.zst
    [[ $output == "bad.tar.zst: damaged"*"cut off"* ]]
    "$WPROF" verify --repair bad.tar.zst
    diff <("$WPROF" export s) <("$WPROF" export bad-repaired)
}

holds_samples() {
    [ "$(samples "$1" hot_a)" -gt 0 ]
}

@test "verify --repair: what lies in extra/ and reports/ comes along" {
    rm -rf bad bad-repaired x x.tar.zst
    cp -r s x
    mkdir -p x/extra/sub x/reports
    echo note >x/extra/note.txt
    echo deep >x/extra/sub/deep.txt
    ln -s note.txt x/extra/link
    "$WPROF" -q pack -o x.tar.zst x
    "$WPROF" -q unpack -o bad x.tar.zst # gives extra/ checksums
    mkdir bad/reports
    echo page >bad/reports/page.html
    echo changed >>bad/extra/sub/deep.txt
    truncate -s -12 bad/events.wlog
    ln -s note.txt bad/extra/link
    run -0 "$WPROF" verify --repair bad
    [[ $output == *"1 links, devices"*"3 files of extra/ and reports/ came along"* ]] || { echo "$output"; false; }
    diff -r <(cd bad && cat extra/note.txt extra/sub/deep.txt reports/page.html) \
        <(cd bad-repaired && cat extra/note.txt extra/sub/deep.txt reports/page.html)
    run -0 "$WPROF" verify --json bad-repaired
    python3 -c 'import json, sys
files = {f["path"]: f["state"] for f in json.load(sys.stdin)[0]["files"]}
assert files["extra/note.txt"] == "whole" and files["extra/sub/deep.txt"] == "no sum", files
assert files["reports/page.html"] == "no sum", files' <<<"$output"
    grep -q 'repaired: extra/sub/deep.txt was missing or damaged' bad-repaired/meta.json
    run -3 "$WPROF" verify --repair --force bad # what somebody put there is not removed
}

@test "verify --repair: a recording whose recorder was killed" {
    need_tier_a
    build_workloads
    "$WPROF" record -q -o killed -- "$WORKLOADS/split" 60 3>&- &
    recorder=$!
    until_true 60 holds_samples killed
    command=$(pgrep -P $recorder | head -1)
    run -0 "$WPROF" verify killed
    [[ $output == *"still being recorded"* ]]
    kill -9 $recorder $command
    wait $recorder || true
    run -1 "$WPROF" verify killed
    [[ $output == *"cut off"* ]]
    "$WPROF" verify --repair killed
    run -0 "$WPROF" verify killed-repaired
    grep -q 'main;hot_a' killed-repaired/folded.txt
    "$WPROF" -q pack -o k.tar.zst killed-repaired
    "$WPROF" show k.tar.zst >/dev/null
}
