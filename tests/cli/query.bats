#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

setup() {
    "$WPROF" version | grep -qE '^  sqlite +yes' || skip "needs a build with SQLite"
    cd "$BATS_TEST_TMPDIR"
    printf 'main;a;b 3\nmain;a 2\nmain;c 5\n' >x
    "$WPROF" -q import -o s x
    printf 'main;c 7\n' >y
    "$WPROF" -q import -o t y
}

csv() {
    "$WPROF" -q query -f csv "$@"
}

@test "query: functions, stacks and their values" {
    diff - <(csv hot s) <<'END'
session,name,self,total,self_percent
1,c,5,5,50
1,b,3,3,30
1,a,2,5,20
1,main,0,10,0
END
    diff - <(csv s stacks) <<'END'
session,samples,stack
1,5,main;c
1,3,main;a;b
1,2,main;a
END
}

@test "query: the view folded is what export writes" {
    for i in s "$BATS_TEST_DIRNAME/../fixtures/query/threads.speedscope.json"; do
        [ -d "$i" ] || { "$WPROF" -q import -o u "$i"; i=u; }
        diff <("$WPROF" export "$i") <("$WPROF" -q query -n 0 -f json "$i" "SELECT stack, samples FROM folded" |
            python3 -c 'import json,sys
print("\n".join(sorted("%s %d" % (r["stack"], r["samples"]) for r in json.load(sys.stdin)["rows"])))')
    done
}

@test "query: several sessions, joined by ids alone" {
    diff - <(csv s t "SELECT session, sum(value) FROM samples GROUP BY 1") <<'END'
session,sum(value)
1,10
2,7
END
    diff - <(csv across t s) <<END
name,host,workload,session,self,self_percent
c,,y,1,7,100
c,,x,2,5,50
b,,x,2,3,30
a,,x,2,2,20
main,,y,1,0,0
main,,x,2,0,0
END
    [ "$(csv s t "SELECT count(*) FROM stacks c JOIN stacks p ON p.id = c.parent WHERE c.session != p.session" | tail -1)" = 0 ]
    [ "$(csv s t "SELECT group_concat(frames.name) FROM samples JOIN stacks ON stacks.id = samples.stack JOIN frames
        ON frames.id = stacks.frame WHERE samples.session = 2" | tail -1)" = c ]
}

@test "query: the newest session here, and it is said which" {
    touch -d '1 hour ago' s/meta.json
    run -0 --separate-stderr "$WPROF" query -f csv "SELECT sum(value) AS n FROM samples"
    [ "${lines[1]}" = 7 ]
    [[ $stderr == *"session: t (the newest here)"* ]]
}

@test "query: every ready query has an answer" {
    [ "$("$WPROF" query --list | wc -l)" -ge 12 ]
    for q in $("$WPROF" query --list | awk '{ print $1 }'); do
        run -0 "$WPROF" query "$q" s t
    done
}

@test "query: csv, json and a table say the same" {
    statement="SELECT 'a,\"b\"' AS text, 1.5 AS real, NULL AS absent, 7 AS text"
    diff - <(csv s "$statement") <<<$'text,real,absent,text\n"a,""b""",1.5,,7'
    "$WPROF" -q query -f json s "$statement" | python3 -c 'import json,sys
d = json.load(sys.stdin)
assert d["columns"] == ["text", "real", "absent", "text_2"], d
assert d["rows"] == [{"text": "a,\"b\"", "real": 1.5, "absent": None, "text_2": 7}], d
assert d["complete"] is True and d["rows_left_out"] == 0'
    run -0 "$WPROF" query s "$statement"
    [[ ${lines[1]} == *'a,"b"'*1.5*7* ]]
    diff - <(csv s "SELECT 1e400 AS more, -1e400 AS less, NULL AS unknown") <<<$'more,less,unknown\nInf,-Inf,'
    "$WPROF" -q query -f json s "SELECT 1e400 AS more, NULL AS unknown" | grep -q '"more":"Inf","unknown":null'
}

@test "query: rows beyond the bound are counted" {
    run -0 --separate-stderr "$WPROF" query -n 2 -f csv s "SELECT id FROM stacks"
    [ "${#lines[@]}" = 3 ]
    [[ $stderr == *"2 more rows were left out after the first 2"* ]]
    run -0 --separate-stderr "$WPROF" query -n 0 -f csv s "SELECT id FROM stacks"
    [ "${#lines[@]}" = 5 ]
}

@test "query: a statement without an end is stopped, and that is no success" {
    run -3 --separate-stderr "$WPROF" query --timeout 50ms -n 1 -f json s "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    [[ $output == *'"complete":false'* ]]
    [[ $stderr == *"stopped after 50"*"ms (--timeout)"* ]]
}

@test "query: nothing but reading" {
    for statement in "ATTACH 'evil' AS e" "CREATE TABLE z(a)" "INSERT INTO samples VALUES (1)" "DELETE FROM samples" "PRAGMA user_version" \
        "SELECT load_extension('evil')" "WITH a AS (SELECT 1) INSERT INTO samples SELECT * FROM a" "SELECT 1; SELECT 2" "DROP VIEW folded" "VACUUM INTO 'evil'"; do
        run -3 "$WPROF" query s "$statement"
    done
    [ ! -e evil ]
}

@test "query: what is wrong is said" {
    run -3 "$WPROF" query s "SELECT nope FROM samples"
    [[ $output == *"no such column: nope"*"--schema"* ]]
    run -2 "$WPROF" query
    run -2 "$WPROF" query s hto
    [[ $output == *"neither"*"hto"* ]]
    run -2 "$WPROF" query ht s
    [[ $output == *"did you mean 'hot'"* ]]
    run -3 "$WPROF" query nowhere hot
    run -3 "$WPROF" query nowhere "SELECT 1"
}

@test "query: sessions, artifacts and reports need no log" {
    mkdir s/reports
    printf '# fine\n' >s/reports/report.md
    rm s/events.wlog
    diff - <(csv s "SELECT r.mode, r.content, s.kind FROM reports r JOIN sessions s USING (session_id)") <<<$'mode,content,kind\nreport.md,"# fine\n",imported'
    run -3 "$WPROF" query s hot
    [[ $output == *"no events.wlog"* ]]
}

@test "query: a topology" {
    "$WPROF" -q import "$BATS_TEST_DIRNAME/../fixtures/topology/small.json" -o g
    want=$(python3 -c 'import json,sys; g = json.load(open(sys.argv[1])); print(len(g["nodes"]), len(g["edges"]))' g/topology.json)
    [ "$(csv g s "SELECT (SELECT count(*) FROM nodes) || ' ' || (SELECT count(*) FROM edges)" | tail -1)" = "$want" ]
    [ "$(csv s g "SELECT count(*) FROM edges JOIN nodes a ON a.id = edges.a JOIN nodes b ON b.id = edges.b" | tail -1)" = "${want#* }" ]
    echo '{' >g/topology.json
    run -3 "$WPROF" query g "SELECT count(*) FROM nodes"
    [[ $output == *"g/topology.json"* ]]
}

@test "query: the page names every table and column" {
    page=$BATS_TEST_DIRNAME/../../man/wprof-sqlite.5.md
    "$WPROF" query --schema | awk '/^CREATE (TABLE|VIEW)/ { sub(/\(.*/, "", $3); t = $3; print t; if ($2 == "VIEW") t = "" } /^\);/ { t = "" } t && /^    [a-z]/ { print t "." $1 }' >names
    [ "$(wc -l <names)" -ge 100 ]
    sed 's/\\//g' "$page" | awk '/^## / { t = $2; print t } /^# VIEWS/ { t = "" } /^- \*\*/ { gsub(/\*|:/, "", $2); print (t ? t "." : "") $2 }' | sort >told
    diff <(sort names) told
}
