#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Archives from strangers.
load common
load packed

setup() {
    need_command zstd
    imported_session
}

# archive NAME PYTHON: NAME.tar.zst of what PYTHON does with t, a tarfile, and add(name, text, type, link).
archive() {
    python3 - "$1.tar" "$2" <<'END'
import io, sys, tarfile
t = tarfile.open(sys.argv[1], "w")
def add(name, text=b"", type=tarfile.REGTYPE, link=""):
    m = tarfile.TarInfo(name)
    m.type, m.linkname, m.size = type, link, len(text)
    t.addfile(m, io.BytesIO(text))
exec(sys.argv[2])
t.close()
END
    zstd -q --rm "$1.tar"
}

# refused ARCHIVE WORDS: by unpack and as an operand, by these words; nothing is left behind.
refused() {
    run -3 "$WPROF" unpack -o out "$1.tar.zst"
    [[ $output == *"$2"* ]] || { echo "$output"; return 1; }
    run -3 "$WPROF" show "$1.tar.zst"
    [[ $output == *"$2"* ]] || { echo "$output"; return 1; }
    [ -z "$(find . tmp -maxdepth 1 -name 'out*' -o -path './tmp/*')" ]
}

@test "archives from strangers: refused by the member's name, and nothing is left behind" {
    archive abs 'add("/etc/x")'
    refused abs "'/etc/x' is an absolute path"
    archive up 'add("a/../../x")'
    refused up "'a/../../x' is a path that leads out"
    archive sym 'add("a/l", type=tarfile.SYMTYPE, link="/etc/passwd")'
    refused sym "'a/l' is a symbolic link"
    archive hard 'add("a/x"); add("a/l", type=tarfile.LNKTYPE, link="a/x")'
    refused hard "'a/l' is a hard link"
    archive dev 'add("a/d", type=tarfile.CHRTYPE)'
    refused dev "'a/d' is a device"
    archive fifo 'add("a/p", type=tarfile.FIFOTYPE)'
    refused fifo "'a/p' is neither"
    archive twice 'add("a/x"); add("a/x")'
    refused twice "'a/x' is there twice"
    archive two 'add("a/x"); add("b/x")'
    refused two "'b/x' is not in 'a'"
    archive bomb 'add("a/z", bytes(150000000))'
    refused bomb "'z': 64.1 MiB come out of"
    archive control 'add("a/\x1b[31m/..")'
    refused control "'a/?[31m/..'"
    archive none 'pass'
    refused none "nothing is in it"
    "$WPROF" -q pack -o a.tar.zst s
    run -3 "$WPROF" unpack -o out --max-size 1k a.tar.zst
    [[ $output == *"--max-size allows more"* ]]
    head -c "$(($(stat -c %s a.tar.zst) / 2))" a.tar.zst >cut.tar.zst
    refused cut "" # libarchive's words
    echo text >plain
    run -3 "$WPROF" show plain
    [[ $output == *"an archive that"* ]]
}

@test "archives as others pack a session: gzip or none, from ./ on or without a directory" {
    mkdir s/extra s/s # parts that come before meta.json, one of them named as its directory
    echo note | tee s/extra/note.txt >s/s/meta.json
    tar -czf dir.tar.gz s
    tar -cf dir.tar s
    tar -C s -czf dot.tar.gz .
    (cd s && tar --zstd -cf ../dot.tar.zst . && tar --zstd -cf ../flat.tar.zst -- extra s *.json *.wlog &&
        tar -cf ../flat.tar -- s extra *.json *.wlog)
    for a in dir.tar.gz dir.tar dot.tar.gz dot.tar.zst flat.tar.zst flat.tar; do
        rm -rf u
        "$WPROF" unpack -o u "$a"
        diff -r s u
        "$WPROF" export "$a" | cmp - <("$WPROF" export s)
    done
    "$WPROF" export - <dir.tar.gz | cmp - <("$WPROF" export s)
    rm -r u
    [ "$("$WPROF" ls --format json | grep -o '"packed":true' | wc -l)" = 4 ] # all but the plain ones
    archive later 'add("x/y"); add("./x/../y")'
    refused later "'x/../y' is a path that leads out"
    archive again 'add("x"); add("./x")'
    refused again "'x' is there twice"
    gzip -c in.folded >in.folded.gz # no archive
    "$WPROF" import -o g in.folded.gz
}

@test "checksums: a file that is not what meta.json says" {
    tar -cf changed.tar --transform 's|^s|id|' s
    mkdir x && tar -xf changed.tar -C x
    printf X | dd of=x/id/events.wlog bs=1 seek=100 conv=notrunc status=none
    tar -C x -cf changed.tar id && zstd -q --rm changed.tar
    refused changed "'events.wlog' is not what meta.json says"
    cp -r x/id bad
    run -3 "$WPROF" pack bad
    [[ $output == *"events.wlog is missing or was changed"* && $output == *"wprof verify"* ]]
}
