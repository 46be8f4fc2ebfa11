#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends recordings at random moments, and says what of each is wrong:

    interrupt.py WPROF TIER HOW TIMES [SEED]

HOW: `int`, ^C as a terminal sends it, to wprof and the command; `twice`, and another one a little later, which may meet the
sealing; `int-p`, ^C to a wprof that is attached; `term`, SIGTERM to wprof alone; `kill`, kill -9 of wprof alone. The
command ends with 9 by ^C and with 8 by SIGTERM, and is there for much longer than the moments, which lie between wprof's
start and some time after the command's. Whatever the moment: a session that is there opens, and is sealed but after
kill -9; wprof's exit code is the command's, or 125 or 128 + the signal's number where the command had not begun; the
command lives on after kill -9, and who is attached to always. Prints a line for each; exit 1 where one is wrong.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COMMAND = """import os, signal, time
def end(number, frame): os._exit(9 if number == signal.SIGINT else 8)
signal.signal(signal.SIGINT, end); signal.signal(signal.SIGTERM, end)
open("began.tmp", "w").write(str(os.getpid())); os.rename("began.tmp", "began")
while True: time.sleep(0.02); sum(range(20000))
"""
NUMBERS = {"int": signal.SIGINT, "twice": signal.SIGINT, "int-p": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL}
LIMIT = 60  # seconds until a wprof that does not end counts as hung; says nothing of how long it may take


def meta(path):
    try:
        with open(os.path.join(path, "meta.json")) as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def check(wprof, how, began, code, session, err):
    """What is wrong, or None."""
    number = NUMBERS[how]
    own = {"int": 9, "twice": 9, "term": 8}.get(how)
    before = (125, 128 + number, -number)  # the command had not begun, or not got as far as its handlers
    if how == "kill":
        allowed = (-9,)
    elif how == "int-p":
        allowed = (0,) + before
    elif began:
        allowed = (own,)
    else:
        allowed = (own, 1) + before
    if code not in allowed:
        return "exit code %d" % code
    if not os.path.exists(session):
        return None if not began or how == "int-p" else "no session"
    shown = subprocess.run([wprof, "show", session], capture_output=True, text=True)
    if shown.returncode and not (shown.returncode == 3 and shown.stderr.strip() and not began):
        return "does not open: %s" % shown.stderr.strip()
    state = (meta(session) or {}).get("state")
    if how != "kill" and state != "sealed":
        return "state %s" % state
    return None


def target(python):
    """A process to attach to."""
    return subprocess.Popen([python, "-S", "-E", "-c", COMMAND], start_new_session=True)


def once(wprof, tier, how, delay):
    command = [sys.executable, "-S", "-E", "-c", COMMAND]
    args = [wprof, "record", "-q", "-o", "s"] + (["--tier", tier] if tier != "-" else [])
    other = None
    if how == "int-p":
        other = target(sys.executable)
        args += ["-p", str(other.pid)]
    else:
        args += ["--"] + command
    with open("err", "wb") as err:
        p = subprocess.Popen(args, stderr=err, stdout=subprocess.DEVNULL, start_new_session=True)
    time.sleep(delay)
    began = os.path.exists("began") if how != "int-p" else False
    send = os.kill if how in ("term", "kill") else os.killpg
    send(p.pid, NUMBERS[how])
    if how == "twice":
        time.sleep(random.uniform(0, 0.2))
        if p.poll() is None:
            send(p.pid, NUMBERS[how])
    try:
        code = p.wait(LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        return began, "hangs"
    with open("err", errors="replace") as f:
        text = f.read()
    wrong = check(wprof, how, began, code, "s", text)
    if how == "kill" and began and not wrong:
        pid = int(open("began").read())
        if not os.path.exists("/proc/%d" % pid):
            wrong = "the command is gone"
    if other:
        if other.poll() is not None and not wrong:
            wrong = "the process is gone"
        other.kill()
        other.wait()
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return began, "%s (code %d, %s)" % (wrong, code, text.strip()[-300:]) if wrong else None


def main():
    wprof, tier, how, times = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else random.randrange(1 << 30)
    random.seed(seed)
    top, bad, begun = tempfile.mkdtemp(), 0, 0
    print("seed %d" % seed)
    try:
        for _ in range(times):
            d = tempfile.mkdtemp(dir=top)
            os.chdir(d)
            # half of them while it gets ready, whatever that takes here
            delay = random.uniform(0, 0.25) if random.random() < 0.5 else random.uniform(0, 1)
            began, wrong = once(wprof, tier, how, delay)
            begun += began
            bad += wrong is not None
            print("%s %s %.3f s: %s" % (tier, how, delay, wrong or ("ok, begun" if began else "ok")))
            os.chdir(top)
    finally:
        os.chdir("/")
        shutil.rmtree(top)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
