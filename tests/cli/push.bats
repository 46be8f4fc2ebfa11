#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sessions sent to a server on this machine (tests/tools/collector.py).
load common
load packed

setup() {
    run "$WPROF" version
    grep -qE "curl +yes" <<<"$output" || skip "needs a build with libcurl"
    imported_session
    unset WPROF_TOKEN http_proxy https_proxy all_proxy ALL_PROXY
}

teardown() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
}

# serve [CERT KEY]: with what it got in ./got
serve() {
    mkdir -p got
    python3 "$ROOT/tests/tools/collector.py" got "$@" 3>&- &
    server=$!
    until_true 30 test -s got/port
    at=127.0.0.1:$(cat got/port)
}

# got N EXPRESSION: holds of request N, r; h is its headers.
got() {
    python3 -c 'import json, sys
r = json.load(open(f"got/{sys.argv[1]}.json"))
h = {k.lower(): v for k, v in r["headers"].items()}
assert eval(sys.argv[2]), r' "$1" "$2"
}

@test "collector: meta and blob, as a form, with the token of a file or of the environment" {
    serve
    echo geheim >token
    run -0 --separate-stderr "$WPROF" push --token-file token "http://$at/api/v1/collector/upload" s
    [ "$output" = '{"ok": true, "session_id": "x"}' ]
    got 1 'r["method"] == "POST" and r["path"] == "/api/v1/collector/upload" and h["authorization"] == "Bearer geheim"'
    got 1 'r["parts"]["meta"] == ["meta.json", "application/json"] and r["parts"]["blob"][0].endswith(".tar.zst")'
    cmp got/1.meta s/meta.json
    "$WPROF" unpack -o u - <got/1.blob
    diff -r s u
    WPROF_TOKEN=other run -0 "$WPROF" push --to collector "http://$at/x" s
    [[ $output != *"no setting"* ]]
    got 2 'h["authorization"] == "Bearer other" and set(r["parts"]) == {"meta", "blob"}'
    echo full >got/answers
    run -3 "$WPROF" push "http://$at/api/v1/collector/upload" s
    [[ $output == *"not taken, the server answers 200, but says that it is not ok"* && $output == *"disk full"* ]]
    echo page >got/answers # a login that stands before it
    run -3 "$WPROF" push "http://$at/api/v1/collector/upload" s
    [[ $output == *"not taken, the server answers 200, but with a page, as no collector does"* ]]
}

@test "put: the archive as pack makes it; what stands behind ? is sent and shown nowhere" {
    serve
    "$WPROF" -q pack -o a.tar.zst s
    run -0 "$WPROF" -v push "http://user:pw@$at/bucket/x.tar.zst?X-Signature=geheim" s
    [[ $output != *geheim* && $output != *pw@* ]]
    got 1 'r["method"] == "PUT" and r["path"] == "/bucket/x.tar.zst?X-Signature=geheim"'
    cmp got/1.body a.tar.zst
    "$WPROF" push "http://$at/y" a.tar.zst # packed already
    cmp got/2.body a.tar.zst
    # a collector's token goes nowhere else, unless it is asked for
    WPROF_TOKEN=geheim "$WPROF" push "http://$at/z?X-Signature=s" s
    got 3 '"authorization" not in h'
    echo geheim >token
    "$WPROF" push --token-file token "http://$at/z" s
    got 4 'h["authorization"] == "Bearer geheim"'
}

@test "what is not whole is not sent" {
    serve
    cp -r s bad
    printf X | dd of=bad/events.wlog bs=1 seek=40 conv=notrunc status=none
    run -3 "$WPROF" push "http://$at/x" bad
    [[ $output == *"events.wlog is missing or was changed"* ]]
    [ ! -e got/1.json ]
}

@test "a busy server is asked again, from the start, and each time it is said; others are not" {
    serve
    printf '503\n429 1\n200\n' >got/answers
    run -0 "$WPROF" push "http://$at/x" s
    [[ $output == *"answers 503: again in 1 s"*"answers 429: again in 1 s"*"taken (200)"* ]]
    cmp got/1.body got/3.body
    printf '503\n503\n' >got/answers
    run -3 "$WPROF" push --retries 1 "http://$at/x" s
    [[ $output == *"not taken, the server answers 503"* && $output == *"no ?[31mluck"* ]]
    printf '403\n' >got/answers
    run -3 "$WPROF" push "http://$at/x" s
    [[ $output == *"not taken, the server answers 403"* && $output != *again* ]]
    printf '302\n' >got/answers
    run -3 "$WPROF" push "http://$at/x" s
    [[ $output == *"the server answers 302: it wants it sent to http://$at/elsewhere, which is not followed"* && $output != *geheim* ]]
    [ "$(ls got/*.json | wc -l)" = 7 ] # nobody went elsewhere
    printf '400\n' >got/answers
    run -3 --separate-stderr "$WPROF" push "http://$at/x" s
    [[ ${#output} = 65536 && $stderr == *"4464 bytes of it are left out"* ]]
    kill $server && wait $server || true
    server=
    run -3 "$WPROF" push --retries 0 "http://$at/x" s
    [[ $output == *"http://$at/x: "* ]]
}

@test "a server that does not answer is given up, and asked again" {
    serve
    printf 'hang\n200\n' >got/answers
    run -0 "$WPROF" push --retries 1 --timeout 300ms "http://$at/x" s
    [[ $output == *"nothing moved for 300 ms: again in 1 s"*"taken (200)"* ]] || { echo "$output"; false; }
}

@test "https: a certificate that nobody vouches for is refused at once; --ca-file vouches" {
    need_command openssl
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=127.0.0.1 \
        -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    serve cert key
    run -3 "$WPROF" push "https://$at/x" s
    [[ $output == *certificate* && $output != *again* ]]
    [ ! -e got/1.json ]
    run -0 "$WPROF" push --ca-file cert "https://$at/x" s
    got 1 'r["method"] == "PUT"'
}

@test "usage, tokens that are none, http with a token" {
    run -2 "$WPROF" push
    run -2 "$WPROF" push ftp://x/y s
    run -2 "$WPROF" push http://127.0.0.1:1/ s too many
    : >empty
    run -3 "$WPROF" push --token-file empty http://127.0.0.1:1/ s
    [[ $output == *"is empty"* ]]
    WPROF_TOKEN=$'a\nX-Evil: b' run -3 "$WPROF" push --to collector http://127.0.0.1:1/ s
    [[ $output == *"the token is no token"* ]]
    run -3 "$WPROF" push http://127.0.0.1:1/ nothing-here
}
