# SPDX-License-Identifier: MIT
"""Adds up what meson wrote down about each test, names what failed or was skipped and why, and prints the closing line.

usage: tally.py [--strict] [--broken N] TESTLOG.JSON...
                                             --broken: builds that failed, each counted as a failure
                                             --strict: a flaky case counts as failed
       tally.py --repeat TESTLOG.JSON        the failed client cases that tests/run repeats, a line each

The repeats of a case are in again.json beside its log. Two failures or more among REPEATS are a failure; else the case is flaky:
neither passed nor failed, named above the last line with its rate, its outputs kept in the folder flaky beside the log."""

import argparse
import json
import os
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}
REPEATS = 10
# More failed cases than these are a defect, or a machine that cannot run them.
MOST_REPEATED = 8
# A defect however rarely it shows: such a case is never flaky.
FOUND = re.compile(r"Sanitizer:|runtime error:|Assertion `|SIG(SEGV|BUS|ABRT|FPE|ILL)|Segmentation fault|core dumped|Received signal"
                   r"|exit (-4|-6|-7|-8|-11|132|134|135|136|139)\b")


def records(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip():
                yield json.loads(line)


def reason(record):
    """The line in which a skipped test says why."""
    said = re.findall(r"^skipped: (.*)$", record.get("stdout") or "", re.MULTILINE)
    return said[-1] if said else "it did not say why"


def flaky_within(record):
    """The cases that a test of several cases names as flaky."""
    return re.findall(r"^flaky: (.*)$", record.get("stdout") or "", re.MULTILINE)


def is_failure(record):
    return record["result"] not in PASSED | SKIPPED


def short(record):
    return record["name"].split(" / ")[-1]


def is_client_case(record):
    """A name is "PROJECT:SUITE[+SUITE]... / TEST"."""
    return "client" in re.split(r"[:+]", record["name"].split(" / ")[0])[1:]


def output(record):
    return (record.get("stdout") or "") + (record.get("stderr") or "")


def to_repeat(path):
    failed = [record for record in records(path) if is_failure(record) and is_client_case(record)]
    return [short(record) for record in failed if not FOUND.search(output(record))] if len(failed) <= MOST_REPEATED else []


def repeats(path):
    """The repeats of each case, by its name."""
    again = os.path.join(os.path.dirname(path), "again.json")
    by_name = {}
    for record in records(again) if os.path.exists(again) else ():
        by_name.setdefault(short(record), []).append(record)
    return by_name


def is_flaky(runs):
    failed = [record for record in runs if is_failure(record)]
    return len(runs) == REPEATS and len(failed) < 2 and not any(FOUND.search(output(record)) for record in failed)


def keep(path, runs):
    """Write the outputs of a flaky case's failed runs beside the log; return the file's name."""
    folder = os.path.join(os.path.dirname(path), "flaky")
    os.makedirs(folder, exist_ok=True)
    kept = os.path.join(folder, short(runs[0]) + ".txt")
    with open(kept, "w", encoding="utf-8") as f:
        f.write("\n== another run\n".join(output(record) for record in runs if is_failure(record)))
    return kept


class Tally:
    def __init__(self, broken):
        self.passed, self.failed, self.skipped = 0, broken, 0
        self.flaky = []  # "NAME (1 of 11)"

    def add_failure(self, path, build, record, runs):
        name = short(record)
        rate = f"{1 + sum(map(is_failure, runs))} of {1 + len(runs)}"
        if is_flaky(runs):
            self.flaky.append(f"{name} ({rate})")
            print(f"flaky: {build}: {name}: failed {rate} times; all of it: {keep(path, [record, *runs])}")
            print("".join("    " + line + "\n" for line in output(record).splitlines()[-20:]), end="")
        else:
            self.failed += 1
            print(f"FAILED: {build}: {name}: {record['result']}" + (f": {rate} times" if runs else "") +
                  f"; to repeat it: meson test -C {build} {name} -v")

    def add_flaky_within(self, build, record):
        for case in flaky_within(record):
            self.flaky.append(case)
            print(f"flaky: {build}: {short(record)}: {case}")

    def add(self, path):
        build = os.path.basename(os.path.dirname(os.path.dirname(path)))
        again = repeats(path)
        for record in records(path):
            if record["result"] in PASSED:
                self.passed += 1
                self.add_flaky_within(build, record)
            elif record["result"] in SKIPPED:
                self.skipped += 1
                print(f"skipped: {build}: {short(record)}: {reason(record)}")
            else:
                self.add_failure(path, build, record, again.get(short(record), []))

    def close(self, is_strict):
        if self.flaky:
            print(f"{len(self.flaky)} flaky: {', '.join(self.flaky)}")
        if is_strict:
            self.failed += len(self.flaky)
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed or not self.passed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--broken", type=int, default=0)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--repeat", action="store_true")
    parser.add_argument("logs", nargs="*")
    options = parser.parse_args()
    if options.repeat:
        print("".join(name + "\n" for path in options.logs for name in to_repeat(path)), end="")
        return 0
    print()
    tally = Tally(options.broken)
    for path in options.logs:
        tally.add(path)
    return tally.close(options.strict)


if __name__ == "__main__":
    sys.exit(main())
