#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

# made DIR HOST WORKLOAD KIND START: a session, as far as ls looks at it.
made() {
    mkdir -p "$1"
    printf '{"session_id":"20260101-000000-%06x","schema_version":1,"state":"sealed","host":"%s","workload":"%s","kind":"%s","kinds":["%s"],"start_ts":%s,"end_ts":%s,"duration_s":3,"command":["./%s","<x>"],"artifacts":[{"kind":"a","path":"a","size":2048,"sha256":""}]}' \
        "${5##*[!0-9]}" "$2" "$3" "$4" "cpu-oncpu" "$5" "$5" "$3" >"$1/meta.json"
}

setup() {
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    mkdir "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work"
    made one box-1 train fused 1000000
    made deep/er/two box-2 train imported 3000000
    made "deep/three & <3" box-1 serve fused 2000000
}

paths() {
    "$WPROF" -q ls -f json "$@" | python3 -c 'import json,sys
for s in json.load(sys.stdin)["sessions"]: print(s["path"])'
}

@test "ls: all below, newest first" {
    diff - <(paths) <<<$'deep/er/two\ndeep/three & <3\none'
    diff - <(paths deep one) <<<$'deep/er/two\ndeep/three & <3\none'
    diff - <(paths deep/er/two) <<<deep/er/two
    (cd one && [ "$(paths)" = . ])
    run -0 "$WPROF" ls
    [[ ${lines[1]} == *"3.00 s"*box-2*train*imported*"2.0 KiB"*deep/er/two ]] || { echo "$output"; false; }
}

@test "ls: each once, whatever is named" {
    [ "$(paths . deep one "$PWD/deep" | wc -l)" = 3 ]
}

@test "ls: filters" {
    [ "$(paths --host box-2)" = deep/er/two ]
    [ "$(paths --host 'box*' | wc -l)" = 3 ]
    [ "$(paths --host box | wc -l)" = 0 ]
    [ "$(paths -w serve)" = "deep/three & <3" ]
    [ "$(paths -k imported)" = deep/er/two ]
    [ "$(paths -k cpu-oncpu | wc -l)" = 3 ]
    [ "$(TZ=UTC paths --since 1970-02-01)" = deep/er/two ]
    [ "$(TZ=UTC paths --since 1970-01-24T03:33:20 | wc -l)" = 2 ]
    [ "$(paths --since 1d | wc -l)" = 0 ]
    diff - <(paths -n 2) <<<$'deep/er/two\ndeep/three & <3'
    run -0 --separate-stderr "$WPROF" ls --limit 1
    [[ $stderr == *"2 older sessions are not listed"* ]]
    for wrong in "--since yesterday" "--limit -1" "--limit many"; do
        # shellcheck disable=SC2086
        run -3 "$WPROF" ls $wrong
    done
    run -3 "$WPROF" ls nowhere
}

@test "ls: a merged session is that of each of its hosts" {
    mkdir runs both
    for i in 1 2 3 4 5 6 7 8 9 10; do
        printf 'a;b %d\n' $i >x.folded
        "$WPROF" import --host gpu-$i -o runs/s$i x.folded
    done
    "$WPROF" merge runs/s* -o both/m
    for _ in read indexed; do
        for host in gpu-1 gpu-10 'gpu-?' '*-9'; do
            [ "$(paths --host "$host" both)" = both/m ] || { echo "$host"; false; }
        done
        [ "$(paths --host gpu both | wc -l)" = 0 ]
    done
    "$WPROF" -q ls -f html both | grep -q 'data-hosts="gpu-1,gpu-10,gpu-2,'
}

@test "ls: neither hidden directories nor symlinks nor what is inside of a session" {
    mkdir .hidden
    cp -r one .hidden/
    ln -s "$PWD/one" linked
    mkdir elsewhere
    ln -s ../one/meta.json elsewhere/meta.json
    made one/extra/inner a b c 5
    [ "$(paths | wc -l)" = 3 ]
}

@test "ls: a meta.json that is no session's is said" {
    mkdir other broken
    echo '{"name": "package"}' >other/meta.json
    echo '{' >broken/meta.json
    made other/inner box-9 x fused 7
    run -0 --separate-stderr "$WPROF" ls
    [[ $stderr == *"2 directories have a meta.json that is no session's: "?(./)@(broken|other)", ..."* ]]
    [[ $output == *other/inner* ]]
    rm other/meta.json
    run -0 --separate-stderr "$WPROF" ls
    [[ $stderr == *"1 directory has a meta.json that is no session's: "?(./)broken ]]
}

@test "ls: the index is what the files say, after any change" {
    paths >/dev/null
    [ -s "$XDG_CACHE_HOME/wprof/sessions.db" ] || "$WPROF" version | grep -qE '^  sqlite +no'
    [ ! -e "$XDG_CACHE_HOME/wprof/sessions.db" ] || [ "$(stat -c %a "$XDG_CACHE_HOME/wprof/sessions.db")" = 600 ]
    made one box-7 other fused 9000000
    diff - <(paths) <<<$'one\ndeep/er/two\ndeep/three & <3'
    [ "$(paths --host box-7)" = one ]
    rm -r deep/er
    mv one moved
    diff - <(paths) <<<$'moved\ndeep/three & <3'
    made deep/new box-1 late fused 9500000
    diff - <(paths) <<<$'deep/new\nmoved\ndeep/three & <3'
    mkdir -p "$XDG_CACHE_HOME/wprof"
    echo damaged >"$XDG_CACHE_HOME/wprof/sessions.db"
    [ "$(paths | wc -l)" = 3 ]
    [ "$(paths | wc -l)" = 3 ]
    XDG_CACHE_HOME=/proc/none paths | grep -c . | grep -qx 3
}

@test "ls: the index is read, and not each meta.json" {
    "$WPROF" version | grep -qE '^  sqlite +yes' || skip "needs a build with SQLite"
    need_command strace
    reads() {
        strace -f -e trace=openat -o "$1" "$WPROF" ls >/dev/null
        grep -c '"meta.json"' "$1" || true
    }
    strace -o /dev/null true || skip "strace may not trace here"
    [ "$(reads first)" = 3 ]
    [ "$(reads second)" = 0 ]
    made one box-7 other fused 1
    [ "$(reads third)" = 1 ]
}

@test "ls: who is still recorded, and whose recorder is gone" {
    "$WPROF" -q import -o r - <<<'a;b 1'
    sed -i 's/"state": *"sealed"/"state":"recording"/' r/meta.json
    for i in 1 2; do
        [ "$("$WPROF" -q ls -f json r | python3 -c 'import json,sys; print(json.load(sys.stdin)["sessions"][0]["state"])')" = unsealed ]
    done
}

@test "ls: AIProf's own sessions" {
    mkdir theirs
    echo '{"session_id":"20260716-153012-abc123","schema_version":1,"host":"h","workload":"w","kind":"mock","pid":1,"start_ts":99000000,"end_ts":99000003,"duration_s":3,"languages":[],"agent_ver":"1","notes":""}' >theirs/meta.json
    [ "$(paths -k mock)" = theirs ]
}

@test "ls: a page whose links lead to the sessions' pages" {
    mkdir -p one/reports "deep/three & <3/reports" out
    echo page >one/reports/b.html
    echo page >one/reports/a.html
    "$WPROF" -q ls -f html -o out/page.html
    python3 - <<'END'
import html.parser, os, urllib.parse
links = {}
class Reader(html.parser.HTMLParser):
    href = None
    def handle_starttag(self, tag, attrs):
        self.href = dict(attrs).get("href") if tag == "a" else None
    def handle_data(self, data):
        if self.href is not None:
            links[data] = urllib.parse.unquote(self.href)
            self.href = None
text = open("out/page.html").read()
Reader().feed(text)
assert set(links) == {"one", "deep/er/two", "deep/three & <3"}, links
assert links["one"] == "../one/reports/a.html", links
for to in links.values():
    assert os.path.exists(os.path.join("out", to)), to
assert "./train &lt;x&gt;" in text and "{{" not in text
END
    "$WPROF" -q ls -f html deep | grep -q 'href="deep/three%20%26%20%3C3/'
    "$WPROF" -q ls -f html "$PWD/one" | grep -q 'href="one/reports/a.html"'
}

@test "ls: a page that can be filtered" {
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "needs Chromium"
    "$WPROF" -q ls -f html -o page.html
    python3 - <<'END'
text = open("page.html").read()
open("filtered.html", "w").write(text.replace("    show();\n})();", "    form.workload.value = 'train';\n    form.text.value = 'BOX-2';\n    show();\n})();"))
END
    shown() {
        timeout 60 "$browser" --headless --no-sandbox --disable-gpu --window-size=1400,800 --user-data-dir="$PWD/browser" --virtual-time-budget=2000 --dump-dom "file://$PWD/$1" 2>/dev/null
    }
    shown page.html | grep -q '>3 of 3</output>'
    shown filtered.html >dom
    grep -q '>1 of 3</output>' dom
    [ "$(grep -c '<tr.* hidden=""' dom)" = 2 ]
    mkdir long # the links stay in sight, whatever a workload is called
    printf '{"session_id": "20260716-153012-abc123", "schema_version": 1, "workload": "%0300d"}' 7 >long/meta.json
    "$WPROF" -q ls -f html -o page.html
    sed -i 's|^})();|var all = document.querySelector(".scroll"); document.title = all.scrollWidth <= all.clientWidth \&\& innerWidth >= document.documentElement.scrollWidth ? "fits" : "too wide";\n&|' page.html
    shown page.html | grep -q '<title>fits</title>'
}

@test "ls: the example makes a page of each session and lists them" {
    "$WPROF" version | grep -qE '^  sqlite +yes' || skip "needs a build with SQLite"
    run -0 "$ROOT/examples/sessions.sh"
    [[ $output == *"lists 2 sessions, 2 with a page"*"gemm"*"911"*"903"* ]]
}

@test "ls: archives, opened once" {
    "$WPROF" version | grep -qE '^  archive +yes' || skip "needs a build with libarchive"
    printf 'main;f 3\n' >"$BATS_TEST_TMPDIR/folded"
    "$WPROF" -q import -o made "$BATS_TEST_TMPDIR/folded"
    "$WPROF" -q pack -o deep/made.tar.zst made
    ln -s made.tar.zst deep/link.tar.zst
    cp deep/made.tar.zst deep/.hidden.tar.zst
    head -c 100 /dev/zero >deep/none.tar.zst
    rm -r made
    run -0 --separate-stderr "$WPROF" ls
    [[ ${lines[1]} == *imported*packed*deep/made.tar.zst ]] || { echo "$output"; false; }
    [ "${#lines[@]}" = 5 ]
    [[ $stderr == *"1 archive holds no session"* ]]
    "$WPROF" -q ls -f json -n 1 | python3 -c 'import json,os,sys
s = json.load(sys.stdin)
assert s["sessions"][0]["packed"] and s["sessions"][0]["size"] == os.stat("deep/made.tar.zst").st_size, s
assert s["archives_without_session"] == 1 and s["archives_denied"] == 0, s'
    "$WPROF" -q ls -f html | grep -q 'href="deep/made.tar.zst"'
    [ "$(paths -w folded)" = deep/made.tar.zst ]
    # The same file as far as the index can tell, and another one.
    cp -p deep/made.tar.zst "$BATS_TEST_TMPDIR/keep"
    dd if=/dev/zero of=deep/made.tar.zst bs=1 conv=notrunc status=none count=50
    touch -r "$BATS_TEST_TMPDIR/keep" deep/made.tar.zst
    [ "$(paths -n 1)" = deep/made.tar.zst ]
    touch -d 2001-01-01 deep/made.tar.zst
    [ "$(paths | wc -l)" = 3 ]
    cp "$BATS_TEST_TMPDIR/keep" deep/none.tar.zst
    [ "$(paths -n 1)" = deep/none.tar.zst ]
}

@test "ls: an archive that is named, and one on stdin" {
    "$WPROF" version | grep -qE '^  archive +yes' || skip "needs a build with libarchive"
    printf 'main;f 3\n' >"$BATS_TEST_TMPDIR/folded"
    "$WPROF" -q import -o made "$BATS_TEST_TMPDIR/folded"
    "$WPROF" -q pack -o named.pack made
    rm -r made
    for _ in read indexed; do
        [ "$(paths named.pack)" = named.pack ]
    done
    [ "$(paths deep named.pack ./named.pack | wc -l)" = 3 ]
    diff - <(paths - <named.pack) <<<-
    [ "$(cat named.pack | paths -w folded -)" = - ]
    cat named.pack | "$WPROF" -q ls -f html - | grep -q 'imported'
    run -3 "$WPROF" ls nowhere.tar.zst
    run -3 "$WPROF" ls one/meta.json
    [[ $output == *"one/meta.json is neither a directory nor an archive of a session"* ]]
    run -3 "$WPROF" ls - <one/meta.json
    [[ $output == *"stdin: no tar archive"* ]] || { echo "$output"; false; }
    run -3 "$WPROF" ls /dev/null
}
