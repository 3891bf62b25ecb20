# SPDX-License-Identifier: MIT
"""What tests/tally.py counts, and which cases it lets run a second time."""

import json
import os
import subprocess
import sys
import tempfile

TALLY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tally.py")
CLIENT, UNIT = "rxe_dm:client / ", "rxe_dm:unit / "


def tally(results, *options, again=()):
    """Exit status and lines for a log of (name, result, output), with the results of second runs."""
    with tempfile.TemporaryDirectory() as folder:
        logs = os.path.join(folder, "build", "meson-logs")
        os.makedirs(logs)
        for name, rows in (("testlog.json", results), ("again.json", again)):
            with open(os.path.join(logs, name), "w", encoding="utf-8") as f:
                for test, result, output in rows:
                    f.write(json.dumps({"name": test, "result": result, "stdout": output}) + "\n")
        done = subprocess.run([sys.executable, "-B", TALLY, *options, os.path.join(logs, "testlog.json")], capture_output=True, text=True)
        return done.returncode, done.stdout.split("\n")[:-1]


def last(*arguments, **options):
    status, lines = tally(*arguments, **options)
    return status, lines[-1]


A, B, C = (CLIENT + name for name in "abc")
PASS, FAIL = "OK", "FAIL"
LOST = [(A, PASS, ""), (B, FAIL, "no line within 300 s"), (C, "TIMEOUT", "")]

assert last([(A, PASS, ""), (B, PASS, "")]) == (0, "2 passed, 0 failed, 0 skipped")
assert last([(A, PASS, ""), (B, "SKIP", "skipped: no root")]) == (0, "1 passed, 0 failed, 1 skipped")
assert last([]) == (1, "0 passed, 0 failed, 0 skipped")
assert last([(A, PASS, "")], "--broken", "1") == (1, "1 passed, 1 failed, 0 skipped")
assert last(LOST) == (1, "1 passed, 2 failed, 0 skipped")
assert last(LOST, again=[(B, PASS, ""), (C, FAIL, "")]) == (1, "2 passed, 1 failed, 0 skipped")
status, lines = tally(LOST, again=[(B, PASS, ""), (C, PASS, "")])
assert status == 0 and lines[-1] == "3 passed, 0 failed, 0 skipped"
assert sum(line.startswith("passed only when run a second time: build: ") for line in lines) == 2

assert tally(LOST, "--repeat") == (0, ["b", "c"])
assert tally(LOST + [(CLIENT + "d", FAIL, "")], "--repeat") == (0, [])
assert tally([(A, FAIL, ""), (UNIT + "u", FAIL, "")], "--repeat") == (0, [])
for finding in ("ThreadSanitizer: data race", "x.c:1: f: Assertion `n > 0' failed.", "ib_send_bw: exit -11: a", "x.c:3:4: runtime error: shift"):
    assert tally([(A, FAIL, finding)], "--repeat") == (0, []), finding
print("ok")
