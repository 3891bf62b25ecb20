#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One client test: real programs against a device of their own. Exit 0, 1, or 77 when it cannot run here.

usage: client.py --list [--without PART...] | client.py CASE --build DIR"""

import argparse
import importlib
import signal
import sys
import traceback

from left_out import NEEDED_BY, has_what_it_needs
from links import why_not
from program import Failure, Skip

MODULES = ["cases_pingpong", "cases_profile", "cases_tools", "cases_perftest", "cases_trouble", "cases_busy", "cases_server",
           "cases_wire", "cases_capture", "cases_report", "cases_faults", "cases_causes", "cases_loss", "cases_lost", "cases_unreliable",
           "cases_namespaces", "cases_veth", "cases_python", "cases_fabrics", "cases_verbs", "cases_rdmacm", "cases_cm", "cases_rsocket", "cases_examples", "cases_install"]
MODULES += ["cases_stopped", "cases_gdb"]
MODULES += ["cases_memory", "cases_view", "cases_clients"]
MODULES += ["cases_action", "cases_pages", "cases_sanitizers", "cases_labs", "cases_check"]

# An unkind device.
MODULES += ["cases_worst"]
MODULES += ["cases_explore"]


def all_cases():
    cases = {}
    for name in MODULES:
        for case, function in importlib.import_module(name).CASES.items():
            assert case not in cases, case
            cases[case] = function
    return cases


def run_case(case, function, build):
    try:
        if why_not(case):
            raise Skip(why_not(case))
        function(build)
    except Skip as why:
        print(f"skipped: {why}")
        return 77
    except Failure as why:
        print(f"FAILED: {why}")
        return 1
    except Exception:  # a flaw of the test itself: say where, and fail
        traceback.print_exc(file=sys.stdout)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], choices=NEEDED_BY)
    parser.add_argument("--build")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the runner timed out: end what was started
    cases = all_cases()
    if options.list:
        print("\n".join(case for case in cases if has_what_it_needs(case, options.without)))
        return 0
    return run_case(options.case, cases[options.case], options.build)


if __name__ == "__main__":
    sys.exit(main())
