#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' 'app;main;work 70' 'app;main;wait 25' 'app;main 5' >stacks.folded
}

session() {
    "$WPROF" import --from folded -o "${2:-session}" "${1:-stacks.folded}"
}

@test "render: a page named after the session, in the current directory" {
    session
    run -0 --separate-stderr "$WPROF" render session
    [ -z "$output" ]
    [[ $stderr == *"session.html"* ]]
    grep -q '<!DOCTYPE html>' session.html
    grep -q '</html>' session.html
}

@test "render: the newest session where none is named" {
    session stacks.folded wprof-app-20260101-000000-aaaaaa
    run -0 --separate-stderr "$WPROF" render
    [ -s wprof-app-20260101-000000-aaaaaa.html ]
}

@test "render: the page refers to nothing outside itself" {
    session
    "$WPROF" render -o page.html session
    not grep -qE '(src|href)=|https?://|@import|url\(' page.html
}

@test "render: what stands in the page without a script" {
    session
    "$WPROF" render -o page.html session
    sed -n '/<noscript>/,/<\/noscript>/p' page.html | grep -q '70.0 %.*work'
}

@test "render --format svg: well-formed, with names and shares" {
    need_command xmllint
    session
    "$WPROF" render --format svg -o out.svg session
    xmllint --noout out.svg
    grep -q '<title>work' out.svg
    grep -q '^70 samples, 70.0 %</title>\|70 samples, 70.0 %' out.svg
    not grep -q '<script' out.svg
}

@test "render: hostile names stay text" {
    need_command xmllint
    printf '%s\n' '<svg onload=alert(1)>;"&'"'"';</script><img src=x onerror=alert(1)> 3' >bad.folded
    session bad.folded
    "$WPROF" render -o page.html session
    "$WPROF" render -f svg -o out.svg session
    xmllint --noout out.svg
    not grep -q '<img' page.html out.svg
    not grep -q '<svg onload' page.html out.svg
    grep -q '&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;' page.html
}

@test "render -o -: to stdout, and nothing else there" {
    session
    run -0 --separate-stderr "$WPROF" render -f svg -o - session
    [[ $output == '<?xml'*'</svg>' ]]
    [ ! -e session.svg ]
}

@test "render --title" {
    session
    "$WPROF" render -o page.html --title 'before <the> change' session
    grep -q '<title>before &lt;the&gt; change - wprof</title>' page.html
}

@test "render --view: an unknown one names those there are" {
    session
    run -2 "$WPROF" render --view cpuu session
    [[ $output == *"'cpuu' is none of cpu"* ]]
}

@test "render --view: what show -m counts is a name, too" {
    session
    "$WPROF" render --view cpu -o cpu.html session
    "$WPROF" render --view oncpu -o oncpu.html session
    cmp cpu.html oncpu.html
    run -3 "$WPROF" render --view waker session
    [[ $output == *"no metric 'waker'"* ]]
}

@test "render: step 9 stands before step 10" {
    printf 'app;step %d;work 5\n' 0 1 10 11 2 9 >steps.folded
    session steps.folded
    "$WPROF" render -f svg -o out.svg session
    [ "$(grep -o '<title>step [0-9]*' out.svg | tr -dc '0-9\n' | tr '\n' ' ')" = "0 1 2 9 10 11 " ]
}

@test "render --format: an unknown one names those there are" {
    run -2 "$WPROF" render --format gif
    [[ $output == *"html|svg"* ]]
}

@test "render: what is no session is refused" {
    run -3 "$WPROF" render nowhere
    mkdir empty
    run -3 "$WPROF" render empty
    [ ! -e empty.html ]
}

@test "render: a file that can't be written" {
    session
    run -3 "$WPROF" render -o missing/page.html session
    [[ $output == *"missing/page.html"* ]]
}

@test "render: two sessions are one too many" {
    run -2 "$WPROF" render a b
    [[ $output == *"'b' is too many"* ]]
}

@test "render, export: a full disk leaves the file that was there" {
    [ "$(id -u)" = 0 ] || skip "needs root (mounts a small file system)"
    mkdir small
    mount -t tmpfs -o size=1m tmpfs small || skip "cannot mount a tmpfs"
    printf 'a;b 3\n' | "$WPROF" import -o s9 - 2>/dev/null
    echo good >small/page.html
    cp small/page.html small/out.folded
    dd if=/dev/zero of=small/fill bs=64k 2>/dev/null || true
    run -3 --separate-stderr "$WPROF" render -o small/page.html s9
    [[ $stderr == *"No space left"* ]]
    run -3 --separate-stderr "$WPROF" export -o small/out.folded s9
    content=$(cat small/page.html small/out.folded)
    left=$(find small -name '*.*.*')
    umount small
    [ "$content" = $'good\ngood' ]
    [ -z "$left" ]
}

@test "render: what -o may be" {
    printf 'a;b 3\n' | "$WPROF" import -o s8 - 2>/dev/null
    echo old >target.html
    chmod 640 target.html
    ln -s target.html link.html
    "$WPROF" render -o link.html s8
    [ -L link.html ]
    grep -q DOCTYPE target.html || grep -qi '<html' target.html
    [ "$(stat -c %a target.html)" = 640 ]
    (umask 027; "$WPROF" render -o new.html s8)
    [ "$(stat -c %a new.html)" = 640 ]
    run -3 --separate-stderr "$WPROF" render -o . s8
    [[ $stderr == *"is a directory"* ]]
    run -3 --separate-stderr "$WPROF" render -o '' s8
    [[ $stderr == *"the file's name is empty"* ]]
    mkfifo pipe
    cat pipe >through &
    "$WPROF" export -o pipe s8
    wait
    [ "$(cat through)" = "a;b 3" ]
}

@test "render, export, import: under sudo the files are the user's" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    need_command sudo
    id nobody >/dev/null 2>&1 || skip "needs the user nobody"
    uid=$(id -u nobody) gid=$(id -g nobody)
    chmod 777 .
    # What sudo gives to what it runs; that wprof's parent is called sudo is what tells it from a root shell.
    printf '#!/bin/sh\nSUDO_UID=%s SUDO_GID=%s SUDO_USER=nobody "$@"; exit $?\n' "$uid" "$gid" >sudo
    chmod +x sudo
    printf 'a;b 3\n' >in.folded
    ./sudo "$WPROF" import -o mine in.folded
    ./sudo "$WPROF" render -o mine.html mine
    ./sudo "$WPROF" export -o mine.folded mine
    for f in mine mine/meta.json mine/events.wlog mine.html mine.folded; do
        [ "$(stat -c %u:%g "$f")" = "$uid:$gid" ] || { stat "$f"; false; }
    done
}
