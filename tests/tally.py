# SPDX-License-Identifier: MIT
"""Adds up what meson wrote down about each test, names what failed or was skipped and why, and prints the closing line.

usage: tally.py [--broken N] TESTLOG.JSON...     --broken: builds that failed, each counted as a failure
       tally.py --repeat TESTLOG.JSON            the client cases that tests/run runs a second time, a line each

A case that was run a second time has its second result in again.json beside its log. It counts as passed then, and is named."""

import argparse
import json
import os
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}
# Real programs in real time: a machine that stands still can fail one or two of them, a defect fails more or fails again.
MOST_REPEATED = 2
# A defect however rarely it shows: never run again.
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


def is_failure(record):
    return record["result"] not in PASSED | SKIPPED


def short(record):
    return record["name"].split(" / ")[-1]


def to_repeat(path):
    failed = [record for record in records(path) if is_failure(record)]
    output = [(record.get("stdout") or "") + (record.get("stderr") or "") for record in failed]
    if len(failed) > MOST_REPEATED or any("client / " not in record["name"] for record in failed) or any(map(FOUND.search, output)):
        return []
    return [short(record) for record in failed]


def repeated(path):
    """Names of the cases that passed when they ran a second time."""
    again = os.path.join(os.path.dirname(path), "again.json")
    return {short(record) for record in records(again) if record["result"] in PASSED} if os.path.exists(again) else set()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--broken", type=int, default=0)
    parser.add_argument("--repeat", action="store_true")
    parser.add_argument("logs", nargs="*")
    options = parser.parse_args()
    if options.repeat:
        print("".join(name + "\n" for path in options.logs for name in to_repeat(path)), end="")
        return 0
    passed, failed, skipped = 0, options.broken, 0
    print()
    for path in options.logs:
        build = os.path.basename(os.path.dirname(os.path.dirname(path)))
        again = repeated(path)
        for record in records(path):
            name = short(record)
            if record["result"] in PASSED:
                passed += 1
            elif record["result"] in SKIPPED:
                skipped += 1
                print(f"skipped: {build}: {name}: {reason(record)}")
            elif name in again:
                passed += 1
                print(f"passed only when run a second time: {build}: {name}: see above how the first run failed")
            else:
                failed += 1
                print(f"FAILED: {build}: {name}: {record['result']}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
