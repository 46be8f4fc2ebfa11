#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of `wprof mcp` without a model: what makes the newest session slow, and where its time goes.

    examples/mcp.py [DIR]     DIR: where the sessions are; the current directory without it
"""
import json
import os
import subprocess
import sys


class Client:
    """One request after the other; notifications of the server are read over."""

    def __init__(self, command):
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.request("initialize", protocolVersion="2025-11-25", capabilities={},
                     clientInfo={"name": "examples/mcp.py", "version": "1"})
        self.send(method="notifications/initialized")

    def send(self, **message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.server.stdin.flush()

    def request(self, method, **params):
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        for line in self.server.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']['message']}")
                return answer["result"]
        sys.exit("the server ended")

    def call(self, tool, **arguments):
        result = self.request("tools/call", name=tool, arguments=arguments)
        if result["isError"]:
            sys.exit(f"{tool}: {result['content'][0]['text']}")
        return result["structuredContent"]

    def end(self):
        self.server.stdin.close()
        return self.server.wait()


client = Client([os.environ.get("WPROF", "wprof"), "mcp", "--root", sys.argv[1] if len(sys.argv) > 1 else "."])
sessions = client.call("list_sessions", limit=1)["sessions"]
if not sessions:
    sys.exit("no session there: wprof record -- CMD makes one")
newest = sessions[0]["path"]
print(newest)
for finding in client.call("report", session_id=newest)["findings"]:
    print(f"{finding['severity']}: {finding['title']}. {finding['advice']}")
hot = client.call("analyze_hotspot", session_id=newest, top_k=3)
for row in hot["by_self"]:
    print(f"{100 * row['self_share']:5.1f} %  {row['name']}")
sys.exit(client.end())
