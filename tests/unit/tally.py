# SPDX-License-Identifier: MIT
"""What tests/tally.py counts, which cases it repeats, and when a case is flaky."""

import json
import os
import subprocess
import sys
import tempfile

TALLY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tally.py")
CLIENT, UNIT = "rxe_dm:client / ", "rxe_dm:unit / "


def tally(results, *options, again=()):
    """Exit status and lines for a log of (name, result, output), with the results of the repeats."""
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
FIRST = [(A, PASS, ""), (B, FAIL, "no line within 300 s"), (C, "TIMEOUT", "")]


def repeats(name, failures, runs=10):
    return [(name, FAIL if i < failures else PASS, f"run {i}") for i in range(runs)]


assert last([(A, PASS, ""), (B, PASS, "")]) == (0, "2 passed, 0 failed, 0 skipped")
assert last([(A, PASS, ""), (B, "SKIP", "skipped: no root")]) == (0, "1 passed, 0 failed, 1 skipped")
assert last([]) == (1, "0 passed, 0 failed, 0 skipped")
assert last([(A, PASS, "")], "--broken", "1") == (1, "1 passed, 1 failed, 0 skipped")
assert last(FIRST) == (1, "1 passed, 2 failed, 0 skipped")

assert tally(FIRST)[1][-3:-1] == [f"FAILED: build: {name}: {result}; to repeat it: meson test -C build {name} -v"
                                  for name, result in (("b", FAIL), ("c", "TIMEOUT"))]

# One failure among ten repeats is flaky, two are a failure. A flaky case has not passed.
assert last(FIRST, again=repeats(B, 1) + repeats(C, 2)) == (1, "1 passed, 1 failed, 0 skipped")
status, lines = tally(FIRST, again=repeats(B, 0) + repeats(C, 1))
assert status == 0 and lines[-2:] == ["2 flaky: b (1 of 11), c (2 of 11)", "1 passed, 0 failed, 0 skipped"], lines
assert any("no line within 300 s" in line for line in lines)

# Repeats that were cut short prove nothing.
assert last(FIRST[:2], again=repeats(B, 0, runs=9)) == (1, "1 passed, 1 failed, 0 skipped")

# A strict run has no flaky cases: they are failures, still named.
status, lines = tally(FIRST, "--strict", again=repeats(B, 0) + repeats(C, 0))
assert status == 1 and lines[-2:] == ["2 flaky: b (1 of 11), c (1 of 11)", "1 passed, 2 failed, 0 skipped"], lines

# A test of several cases, which repeats them itself, has passed and names the flaky ones.
GUEST = ("rxe_dm:guest / g", PASS, "ok: a\nflaky: rping, ours to Linux (1 of 4)\n2 passed")
assert tally([GUEST])[1][-2:] == ["1 flaky: rping, ours to Linux (1 of 4)", "1 passed, 0 failed, 0 skipped"]
assert last([GUEST], "--strict") == (1, "1 passed, 1 failed, 0 skipped")

assert tally(FIRST, "--repeat") == (0, ["b", "c"])
assert tally([(CLIENT + str(i), FAIL, "") for i in range(9)], "--repeat") == (0, [])
assert tally([(A, FAIL, ""), (UNIT + "u", FAIL, "")], "--repeat") == (0, ["a"])
assert tally([("rxe_dm:client+long / d", FAIL, ""), ("rxe_dm:unit+sanitized / client", FAIL, "")], "--repeat") == (0, ["d"])
for finding in ("ThreadSanitizer: data race", "x.c:1: f: Assertion `n > 0' failed.", "ib_send_bw: exit -11: a", "x.c:3:4: runtime error: shift"):
    assert tally([(A, FAIL, finding)], "--repeat") == (0, []), finding
    # A repeat with such a finding is a failure, also if it is the only one.
    assert last([(A, FAIL, "")], again=repeats(A, 0, runs=9) + [(A, FAIL, finding)]) == (1, "0 passed, 1 failed, 0 skipped")
print("ok")
