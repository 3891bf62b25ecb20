#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One client test: real programs against a device of their own. Exit 0, 1, or 77 when it cannot run here.

usage: client.py --list [--without PART...]
       client.py CASE [--module MODULE] --build DIR    MODULE: the one that has it; else each is loaded"""

import argparse
import importlib
import signal
import sys
import traceback

from left_out import NEEDED_BY, has_what_it_needs
from links import why_not
from program import Failure, Skip

MODULES = ["cases_" + name for name in (
    "pingpong", "profile", "tools", "perftest", "trouble", "busy", "server", "wire", "capture", "report", "faults", "causes", "loss", "lost",
    "unreliable", "namespaces", "veth", "python", "fabrics", "verbs", "rdmacm", "cm", "rsocket", "examples", "install", "stopped", "gdb",
    "memory", "view", "clients", "action", "pages", "sanitizers", "labs", "check", "worst", "explore")]


def cases_of(modules):
    """{case: (function, module)}"""
    cases = {}
    for module in modules:
        for case, function in importlib.import_module(module).CASES.items():
            assert case not in cases, case
            cases[case] = function, module
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
    parser.add_argument("--modules", action="store_true")  # for meson.build: --list says where each is
    parser.add_argument("--module", choices=MODULES)
    parser.add_argument("--build")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the runner timed out: end what was started
    cases = cases_of([options.module] if options.module else MODULES)
    if options.list:
        print("\n".join(f"{case} {module}" if options.modules else case for case, (_, module) in cases.items()
                        if has_what_it_needs(case, options.without)))
        return 0
    return run_case(options.case, cases[options.case][0], options.build)


if __name__ == "__main__":
    sys.exit(main())
