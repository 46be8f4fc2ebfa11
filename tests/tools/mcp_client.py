#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A scripted client of `wprof mcp`, for tests.

    mcp_client.py SCENARIO WPROF ROOT [ROOT]...

Each scenario is a function below; it fails with an AssertionError. Waiting has no bounds of its own: the
test runner's ends what hangs.
"""
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys


class Server:
    def __init__(self, *options, version="2025-06-18", stdin=subprocess.PIPE):
        command = [sys.argv[2], "mcp", *options]
        for root in sys.argv[3:]:
            command += ["--root", root]
        self.process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.number = 0
        if version:
            result = self.ask("initialize", protocolVersion=version, capabilities={},
                              clientInfo={"name": "test", "version": "1"})["result"]
            assert result["protocolVersion"] == version, result
            self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def say(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def read(self):
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), line
        assert not any(byte < 0x20 for byte in line[:-1]), line
        return json.loads(line.decode())

    def ask(self, method, **params):
        self.number += 1
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        answer = self.read()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.number, answer
        assert ("result" in answer) != ("error" in answer), answer
        return answer

    def call(self, tool, **arguments):
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def get(self, tool, **arguments):
        result = self.call(tool, **arguments)
        assert result["isError"] is False, result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"], result
        assert len(result["content"][0]["text"].encode()) <= 100000
        return result["structuredContent"]

    def refused(self, tool, **arguments):
        result = self.call(tool, **arguments)
        assert result["isError"] is True and "structuredContent" not in result, result
        return result["content"][0]["text"]

    def error(self, method, **params):
        return self.ask(method, **params)["error"]["code"]

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        self.talk = self.process.stderr.read().decode()
        assert self.process.wait() == 0, self.process.returncode
        return rest


def sessions(server):
    return {s["workload"]: s for s in server.get("list_sessions")["sessions"]}


def tools():
    """All tools on sessions x (main;a;b 3, main;a 2, main;c 5) and y (main;c 7)."""
    s = Server()
    named = {tool["name"]: tool for tool in s.ask("tools/list")["result"]["tools"]}
    assert list(named) == ["list_sessions", "fetch_flamegraph", "analyze_hotspot", "report", "diff", "query"]
    properties = {name: tool["inputSchema"]["properties"] for name, tool in named.items()}
    assert list(properties["list_sessions"]) == ["host", "workload", "kind", "limit"]
    assert properties["list_sessions"]["limit"]["default"] == 50
    assert properties["list_sessions"]["limit"]["maximum"] == 500
    assert list(properties["fetch_flamegraph"]) == ["session_id"]
    assert properties["analyze_hotspot"]["focus"]["enum"] == ["cpu", "gpu", "python", "auto"]
    assert properties["analyze_hotspot"]["focus"]["default"] == "auto"
    assert properties["analyze_hotspot"]["top_k"]["default"] == 10
    for tool in named.values():
        assert tool["outputSchema"]["type"] == "object" and tool["annotations"]["readOnlyHint"] is True

    there = sessions(s)
    x, y = there["x"]["session_id"], there["y"]["session_id"]
    assert s.get("list_sessions", workload="x*", limit=1)["sessions"] == [there["x"]]
    limited = s.get("list_sessions", limit=1)
    assert len(limited["sessions"]) == 1 and limited["sessions_left_out"] == 1

    flame = s.get("fetch_flamegraph", session_id=x)
    assert flame["folded"] == "main;c 5\nmain;a;b 3\nmain;a 2\n" and flame["total"] == 10, flame
    assert (flame["stacks"], flame["stacks_left_out"], flame["value_left_out"]) == (3, 0, 0)
    assert s.get("fetch_flamegraph", session_id=there["y"]["path"])["folded"] == "main;c 7\n"

    hot = s.get("analyze_hotspot", session_id=x, top_k=2)
    assert hot["quality"]["samples_expected"] is None and hot["quality"]["samples_lost"] is None, hot["quality"]
    assert hot["quality"]["samples_taken"] == 10 and hot["duration_s"] is None
    assert hot["focus"] == "cpu" and hot["summary"] == "3 unique stacks, 10 samples", hot
    assert [(f["name"], f["self"], f["total"]) for f in hot["by_self"]] == [("c", 5, 5), ("b", 3, 3)]
    assert [(f["name"], f["self"], f["total"]) for f in hot["by_total"]] == [("main", 0, 10), ("c", 5, 5)]
    assert hot["by_self_left_out"] == 1  # main has no samples of its own
    assert hot["heaviest_stacks"][0] == {"stack": "main;c", "value": 5, "share": 0.5}
    assert s.get("analyze_hotspot", session_id=x, focus="python")["by_self"] == []
    assert "gpu" in s.refused("analyze_hotspot", session_id=x, focus="gpu")

    report = s.get("report", session_id=x)
    assert report["folded"]["samples"] == 10 and report["hotspots_self"][0]["name"] == "c", report
    assert isinstance(report["findings"], list) and len(report["checks"]) > 10
    assert [c["state"] for c in s.get("report", session_id=x, rule="gil-wait")["checks"]
            if c["state"] != "left out"] == ["not checked"]
    assert "no-such" in s.refused("report", session_id=x, rule="no-such")

    rows = s.get("diff", base=y, new=[x])["rows"]
    assert {r["name"]: r["change"] for r in rows} == {"a": 0.5, "c": -0.5, "b": 0.3, "main": 0}, rows
    assert s.get("diff", base=[y], new=[x], top=1)["rows_left_out"] == 3
    assert "nothing" in s.refused("diff", base=[y], new=["nothing"])

    answer = s.get("query", sessions=[x, y], sql="SELECT session, sum(value) AS v FROM samples GROUP BY 1")
    assert answer == {"columns": ["session", "v"], "complete": True, "rows_left_out": 0,
                      "rows": [{"session": 1, "v": 10}, {"session": 2, "v": 7}]}
    assert [r["name"] for r in s.get("query", sessions=x, sql="hot")["rows"]] == ["c", "b", "a", "main"]
    assert "CREATE TABLE samples" in s.get("query", sessions=x, sql="schema")["schema"]
    for sql in ["DELETE FROM samples", "ATTACH 'x' AS y", "PRAGMA writable_schema=1", "SELECT load_extension('x')",
                "SELECT readfile('/etc/passwd')", "DROP VIEW functions", "nonsense"]:
        s.refused("query", sessions=x, sql=sql)
    assert s.end() == b""


def python_focus():
    """A session of Python functions: they are what auto looks at."""
    s = Server()
    hot = s.get("analyze_hotspot", session_id=sessions(s)["py"]["session_id"])
    assert hot["focus"] == "python" and all(f["kind"] == "python" for f in hot["by_total"]), hot
    assert hot["by_total"]
    s.end()


def gpu():
    """A trace with kernels: auto looks at the GPU, and adds up to what the tables say."""
    s = Server()
    name = next(x["session_id"] for x in s.get("list_sessions")["sessions"] if x["path"].endswith("trace"))
    hot = s.get("analyze_hotspot", session_id=name)
    assert hot["focus"] == "gpu" and hot["metric"] == "gpu" and hot["unit"] == "ns" and hot["cuda_share"] == 1, hot
    assert all(f["kind"] == "gpu" for f in hot["by_self"]) and hot["by_self_left_out"] == 0
    tables = s.get("query", sessions=name, sql="SELECT name, sum(ns) AS ns FROM gpu GROUP BY 1")["rows"]
    assert hot["total"] == sum(r["ns"] for r in tables) == sum(f["self"] for f in hot["by_self"]), (hot, tables)
    assert s.get("analyze_hotspot", session_id=name, focus="gpu")["focus_because"] == "asked for"
    same = s.get("diff", base=name, new=name, metric="gpu", by="kernel")["rows"]
    assert same and all(r["change"] == 0 for r in same), same
    s.end()


def versions():
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]:
        s = Server(version=version)
        tool = s.ask("tools/list")["result"]["tools"][0]
        assert ("annotations" in tool) == (version >= "2025-03-26")
        assert ("outputSchema" in tool) == ("title" in tool) == (version >= "2025-06-18")
        result = s.call("list_sessions")
        assert ("structuredContent" in result) == (version >= "2025-06-18")
        assert len(json.loads(result["content"][0]["text"])["sessions"]) == 2
        assert "resultType" not in result
        wrong = s.ask("tools/call", name="report", arguments={"sesion_id": "x"})
        if version >= "2025-11-25":
            assert wrong["result"]["isError"] and "session_id" in wrong["result"]["content"][0]["text"]
        else:
            assert wrong["error"]["code"] == -32602 and "did you mean 'session_id'" in wrong["error"]["message"]
        s.say([{"jsonrpc": "2.0", "id": "p", "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"},
               {"jsonrpc": "2.0", "id": "l", "method": "tools/call", "params": {"name": "list_sessions"}}, 5])
        answer = s.read()
        if version == "2025-03-26":
            by_id = {a["id"]: a for a in answer}
            assert len(answer) == 3 and by_id["p"]["result"] == {} and by_id[None]["error"]["code"] == -32600
            assert by_id["l"]["result"]["isError"] is False
        else:
            assert answer["error"]["code"] == -32600 and answer["id"] is None
        s.end()
    s = Server(version=None)
    for asked in ["2099-01-01", "2026-07-28", "nonsense"]:
        t = Server(version=None)
        assert t.ask("initialize", protocolVersion=asked)["result"]["protocolVersion"] == "2025-11-25"
        t.end()
    # Without a handshake: each request says its version.
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    found = s.ask("server/discover", _meta=meta)["result"]
    assert found["supportedVersions"][0] == "2026-07-28" and found["resultType"] == "complete"
    listed = s.ask("tools/list", _meta=meta)["result"]
    assert listed["cacheScope"] == "public" and listed["resultType"] == "complete" and len(listed["tools"]) == 6
    result = s.ask("tools/call", name="list_sessions", _meta=meta)["result"]
    assert result["resultType"] == "complete" and len(result["structuredContent"]["sessions"]) == 2
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "wprof"
    assert s.error("ping", _meta=meta) == -32601
    other = s.ask("tools/list", _meta={**meta, "io.modelcontextprotocol/protocolVersion": "1900-01-01"})["error"]
    assert other["code"] == -32022 and "2026-07-28" in other["data"]["supported"]
    assert other["data"]["requested"] == "1900-01-01"
    s.end()


def errors():
    s = Server(version=None)
    assert s.error("tools/list") == -32600  # initialize comes first
    assert s.ask("ping")["result"] == {}
    assert s.error("initialize") == -32602
    s.end()
    s = Server()
    assert s.error("initialize", protocolVersion="2025-06-18") == -32600
    assert s.error("no/such") == -32601 and s.error("prompts/list") == -32601
    assert s.error("tools/call", name="no_such") == -32602 and s.error("tools/call") == -32602
    assert s.error("tools/call", name="report", arguments=[]) == -32602
    assert s.error("tools/call", name="report", arguments={"session_id": 5}) == -32602
    assert s.error("tools/call", name="list_sessions", arguments={"limit": 501}) == -32602
    assert s.error("tools/call", name="list_sessions", arguments={"limit": 1.5}) == -32602
    assert s.error("tools/call", name="query", arguments={"sessions": ["x"] * 33, "sql": "x"}) == -32602
    assert s.error("tools/list", cursor="x") == -32602
    assert s.ask("resources/list")["result"] == {"resources": []}
    assert s.ask("resources/templates/list")["result"] == {"resourceTemplates": []}
    assert s.error("resources/read", uri="file:///etc/passwd") == -32002
    for line, code in [(b"{", -32700), (b"nonsense", -32700), (b"\xff\xfe", -32700), (b"{}", -32600), (b"5", -32600),
                       (b"[]", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602)]:
        s.write(line + b"\n")
        answer = s.read()
        assert answer["error"]["code"] == code, (line, answer)
    s.write(b'\n  \r\n{"jsonrpc":"2.0","method":"no/such/notification"}\n{"jsonrpc":"2.0","id":9,"result":{}}\n')
    s.write(b'{"jsonrpc":"2.0","id":"\\u202e","method":"ping"}\r\n')
    assert s.read() == {"jsonrpc": "2.0", "id": "\u202e", "result": {}}
    s.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')  # no line's end, but the input's
    assert json.loads(s.end())["id"] == "last"


def giant():
    """Lines of 100 MB, deep nesting, a million keys: refused, and memory stays what it was."""
    s = Server()
    for piece in [b"x" * 1000000, b'{"a":[' * 100000, b'"key":1,' * 125000]:
        for _ in range(100 if piece.startswith(b"x") else 2):
            s.write(piece)
        s.write(b"\n")
        assert s.read()["error"]["code"] == -32600
    s.write(b"[" * 100000 + b"\n")
    assert s.read()["error"]["code"] == -32700
    s.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{' + b",".join(
        b'"k%d":0' % i for i in range(80000)) + b"}}\n")
    assert s.read()["result"] == {}
    s.write(b'{"jsonrpc":"2.0","id":"' + b"i" * 2000 + b'","method":"ping"}\n')
    assert s.read()["error"]["code"] == -32600
    assert s.error("tools/call", name="report", arguments={"session_id": "x" * 20000}) == -32602
    assert s.error("m" * 10000) == -32601
    assert s.ask("ping")["result"] == {}
    s.end()
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def roots():
    """Only what lies below the root is read; nothing is opened because of its name."""
    s = Server()
    there = s.get("list_sessions")["sessions"]
    assert sorted(os.path.basename(x["path"]) for x in there) == ["below", "inside", "linked"], there
    outside = os.path.realpath(os.path.join(sys.argv[3], "..", "outside"))
    assert os.path.isdir(outside)
    for name in [outside, "../outside", "root/../../outside", "/", "", ".", "..", "/proc/self/cwd", "way/deep",
                 os.path.join(os.path.realpath(sys.argv[3]), "..", "outside"),
                 os.path.join(os.path.realpath(sys.argv[3]), "way", "deep")]:
        for tool, arguments in [("report", {"session_id": name}), ("fetch_flamegraph", {"session_id": name}),
                                ("diff", {"base": name, "new": name}), ("query", {"sessions": name, "sql": "hot"})]:
            assert "no session" in s.refused(tool, **arguments), name
    linked = next(x for x in there if x["path"].endswith("linked"))
    assert "symlink" in s.refused("report", session_id=linked["path"])
    below = next(x for x in there if x["path"].endswith("below"))
    assert "below/extra/link is a symlink" in s.refused("report", session_id=below["path"])
    s.end()


def hostile():
    """Names that act on terminals, or talk to the model, stay strings."""
    s = Server()
    name = sessions(s)["evil"]["session_id"]
    for tool, arguments in [("fetch_flamegraph", {"session_id": name}), ("analyze_hotspot", {"session_id": name}),
                            ("report", {"session_id": name}), ("query", {"sessions": name, "sql": "hot"})]:
        s.number += 1
        s.say({"jsonrpc": "2.0", "id": s.number, "method": "tools/call",
               "params": {"name": tool, "arguments": arguments}})
        line = s.process.stdout.readline()
        assert not any(byte < 0x20 or byte == 0x7f for byte in line[:-1]), line
        for char in "\u202e\u2028\u009b\u200b":
            assert char.encode() not in line, (tool, char)
        result = json.loads(line)["result"]
        assert not any(ord(c) < 0x20 for c in result["content"][0]["text"]), result
        assert "IGNORE ALL" in result["content"][0]["text"]
    assert "\x1b" not in s.refused("report", session_id="\x1b[31m\u202ex")
    s.end()


def cut():
    """Too much for one answer: cut, and said."""
    s = Server()
    name = sessions(s)["many"]["session_id"]
    flame = s.get("fetch_flamegraph", session_id=name)
    lines = flame["folded"].splitlines()
    assert flame["stacks"] == 20000 == len(lines) + flame["stacks_left_out"]
    assert flame["total"] == sum(int(x.rsplit(" ", 1)[1]) for x in lines) + flame["value_left_out"]
    assert [int(x.rsplit(" ", 1)[1]) for x in lines] == list(range(20000, 20000 - len(lines), -1))
    rows = s.get("query", sessions=name, sql="SELECT * FROM folded", rows=1000)
    assert rows["complete"] and len(rows["rows"]) + rows["rows_left_out"] == 20000
    long = s.get("query", sessions=name, sql="SELECT printf('%.*c', 500000, 'x') AS x, 1 AS y")
    assert long["rows"][0]["y"] == 1 and "left out" in long["rows"][0]["x"]
    assert long["cut_to_fit"]["strings_cut"] == 1, long
    for sql in ["SELECT randomblob(100000000)", "SELECT hex(zeroblob(1000000000))"]:
        s.refused("query", sessions=name, sql=sql)
    s.end()


def cancel():
    """Calls without an end are taken back; others are answered meanwhile, behind however many, and after."""
    s = Server("--timeout", "0")
    name = sessions(s)["x"]["session_id"]
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    for i in range(100):
        s.say({"jsonrpc": "2.0", "id": f"slow{i}", "method": "tools/call",
               "params": {"name": "query", "arguments": {"sessions": name, "sql": endless}}})
    s.say({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
    assert s.read()["id"] == "ping"
    for i in (2, *range(2), *range(3, 100)):
        s.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": f"slow{i}"}})
    s.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "no such"}})
    assert s.get("query", sessions=name, sql="SELECT 1 AS one")["rows"] == [{"one": 1}]
    assert s.end() == b""


def broken():
    """A call whose process is killed is answered, and so is the next."""
    s = Server("--timeout", "0")
    name = sessions(s)["x"]["session_id"]
    s.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query", "arguments": {
        "sessions": name, "sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"}}})
    children = ""
    while not children:
        with open(f"/proc/{s.process.pid}/task/{s.process.pid}/children") as f:
            children = f.read()
    os.kill(int(children), signal.SIGKILL)
    result = s.read()["result"]
    assert result["isError"] and "broke off" in result["content"][0]["text"], result
    assert s.get("query", sessions=name, sql="SELECT 1 AS one")["rows"] == [{"one": 1}]
    s.end()


def timeout():
    s = Server()
    name = sessions(s)["x"]["session_id"]
    s.end()
    s = Server("--timeout", "300ms")
    s.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query", "arguments": {
        "sessions": name, "sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"}}})
    answer = s.read()["result"]
    text = answer["content"][0]["text"]
    assert "--timeout" in text if answer["isError"] else json.loads(text)["complete"] is False, text
    s.end()


def ends():
    """The input's end answers what was asked; a reader that goes away, and a signal, end the server."""
    s = Server("--timeout", "0")
    for i in range(40):
        s.say({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "list_sessions"}})
    rest = s.end().splitlines()
    assert [json.loads(line)["id"] for line in rest] == list(range(40))

    s = Server()
    s.process.stdout.close()
    s.say({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert s.process.wait() == 0

    s = Server("--timeout", "0")
    name = sessions(s)["x"]["session_id"]
    s.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query", "arguments": {
        "sessions": name, "sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"}}})
    s.ask("ping")
    s.process.terminate()
    assert s.process.wait() == 0
    assert s.process.stdout.read() == b""

    s = Server("--timeout", "0")
    s.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query", "arguments": {
        "sessions": name, "sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"}}})
    s.ask("ping")
    s.process.stdout.close()
    assert s.process.wait() == 0


def rest():
    """All calls before the input's end have the time of one from then on: each is answered, few are begun.

    The first is begun before the end is seen, the second takes what time is left.
    """
    s = Server()
    name = sessions(s)["x"]["session_id"]
    s.end()
    with open("asked", "w+") as asked:
        print(json.dumps({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}),
            file=asked)
        for i in range(20):
            print(json.dumps({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {
                "name": "query", "arguments": {"sessions": name, "sql":
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"}}}),
                file=asked)
        print(json.dumps({"jsonrpc": "2.0", "id": "p", "method": "ping"}), file=asked)
        asked.seek(0)
        s = Server("--timeout", "300ms", version=None, stdin=asked)
        answers = [json.loads(line) for line in s.process.stdout]
    assert s.process.wait() == 0
    assert [a["id"] for a in answers] == ["i", "p", *range(20)], answers
    late = [a["id"] for a in answers if "the input ended" in str(a["result"].get("content"))]
    assert late in ([*range(1, 20)], [*range(2, 20)]), late


def unread():
    """More than a pipe holds is answered and nobody reads it: a signal ends the server nevertheless."""
    s = Server()
    for i in range(64):
        s.say({"jsonrpc": "2.0", "id": i, "method": "tools/list"})
    select.select([s.process.stdout], [], [])
    s.process.terminate()
    assert s.process.wait() == 0
    rest = s.process.stdout.read()
    assert rest and rest.count(b"\n") < 64, len(rest)


def archive():
    s = Server()
    there = s.get("list_sessions")["sessions"]
    assert sorted(x["packed"] for x in there) == [False, False, True], there
    packed = next(x for x in there if x["packed"])
    assert s.get("fetch_flamegraph", session_id=packed["session_id"])["path"] == packed["path"][:-len(".tar.zst")]
    assert s.get("fetch_flamegraph", session_id=packed["path"])["folded"] == "main;c 5\nmain;a;b 3\nmain;a 2\n"
    shutil.rmtree(packed["path"][:-len(".tar.zst")])
    assert s.get("fetch_flamegraph", session_id=packed["session_id"])["path"] == packed["path"]
    assert s.get("query", sessions=packed["session_id"], sql="hot")["rows"][0]["name"] == "c"
    s.end()


def several():
    s = Server()
    there = s.get("list_sessions")["sessions"]
    assert sorted(os.path.basename(x["path"]) for x in there) == ["x", "x", "y", "z"], there
    x = next(n for n in there if n["path"].endswith("more/x"))
    text = s.refused("report", session_id=x["session_id"])
    assert "2 sessions" in text and x["path"] in text, text
    assert s.get("report", session_id=x["path"])["session"]["session_id"] == x["session_id"]
    y = next(n for n in there if n["path"].endswith("root/y"))
    text = s.refused("report", session_id=y["session_id"])
    assert "events.wlog" in text or "sealed session" in text, text
    s.end()


globals()[sys.argv[1]]()
