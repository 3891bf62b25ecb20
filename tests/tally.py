# SPDX-License-Identifier: MIT
"""Adds up what meson wrote down about each test, names what failed or was skipped and why, and prints the closing line.

usage: tally.py [--broken N] TESTLOG.JSON...     --broken: builds that failed, each counted as a failure"""

import argparse
import json
import os
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}


def records(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip():
                yield json.loads(line)


def reason(record):
    """The line in which a skipped test says why."""
    said = re.findall(r"^skipped: (.*)$", record.get("stdout") or "", re.MULTILINE)
    return said[-1] if said else "it did not say why"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--broken", type=int, default=0)
    parser.add_argument("logs", nargs="*")
    options = parser.parse_args()
    passed, failed, skipped = 0, options.broken, 0
    print()
    for path in options.logs:
        build = os.path.basename(os.path.dirname(os.path.dirname(path)))
        for record in records(path):
            name = record["name"].split(" / ")[-1]
            if record["result"] in PASSED:
                passed += 1
            elif record["result"] in SKIPPED:
                skipped += 1
                print(f"skipped: {build}: {name}: {reason(record)}")
            else:
                failed += 1
                print(f"FAILED: {build}: {name}: {record['result']}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
