# SPDX-License-Identifier: MIT
"""`rxe_dm explore`: runs a program again and again, each time in another world, and reduces what breaks it.

argv: the path of the rxe_dm command, then its arguments."""

import argparse
import hashlib
import json
import os
import re
import sys
import time

import draw
import output
import process
import search
import trial

COMPLETION = """--help
--runs N
--time TIME
--jobs N
--seed N
--worlds {groups}
--expect STATUS
--timeout TIME
--fails-if PATTERN
--check
--check-suppressions FILE
--state PATH
--junit FILE"""
UNITS = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600}
DEFAULT_RUNS = 200


def seconds(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", text)
    if not found or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no time, such as 60s or 5m")
    return float(found[1]) * UNITS[found[2]]


def positive(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return int(text)


def pattern(text):
    try:
        return re.compile(text, re.MULTILINE)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}': {error}") from None


def with_list(argv):
    """--check as --check=all: its value is optional, and the next word is not its value."""
    given, at = list(argv), 0
    while at < len(given) and given[at].startswith("-") and given[at] != "--":
        if given[at] == "--check":
            given[at] = "--check=all"
        at += 1 if "=" in given[at] or given[at] in ("-h", "--help") else 2
    return given


def arguments(argv):
    parser = argparse.ArgumentParser(prog="rxe_dm explore", description="run a program under many faults, and find those that break it",
                                     allow_abbrev=False)
    add = parser.add_argument
    add("--runs", type=positive, metavar="N", help=f"worlds to try; default {DEFAULT_RUNS}, or as many as --time allows")
    add("--time", type=seconds, metavar="TIME", dest="time_s", help="time to spend, such as 60s or 5m, reducing included")
    add("--jobs", type=positive, metavar="N", help="trials at once; default the number of processors, 1 without network namespaces")
    add("--seed", type=int, metavar="N", default=1, help="another seed draws other worlds; default 1")
    add("--worlds", choices=draw.GROUPS, default="legal", help="what may happen; default legal")
    add("--expect", type=int, metavar="STATUS", default=0, help="exit status of a good run; default 0")
    add("--timeout", type=seconds, metavar="TIME", help="a run that takes longer has failed; default ten times a plain run, and 10 s")
    add("--fails-if", type=pattern, metavar="PATTERN", help="a run whose output matches has failed")
    add("--check", metavar="[=LIST]", help="a run with a finding has failed, as of rxe_dm run --check[=LIST]")
    add("--check-suppressions", metavar="FILE", help="findings that do not count, as for rxe_dm run")
    add("--state", metavar="PATH", default="rxe_dm-explore", help="folder of results; worlds that it knows are not tried again")
    add("--junit", metavar="FILE", help="results for CI, as JUnit XML")
    add("program", nargs=argparse.REMAINDER, metavar="PROGRAM")
    given = parser.parse_args(with_list(argv))
    if given.program[:1] == ["--"]:
        del given.program[0]
    if not given.program:
        parser.error("explore what? For example: rxe_dm explore -- ./your_test")
    return given


def checks_of(given):
    """Options of `rxe_dm run`."""
    if not given.check:
        return []
    return [f"--check={given.check}"] + (["--check-suppressions", given.check_suppressions] if given.check_suppressions else [])


def plan_of(command, given):
    plan = trial.Plan(command, given.program)
    plan.expect, plan.timeout_s, plan.fails_if = given.expect, given.timeout, given.fails_if
    plan.check = checks_of(given)
    plan.namespaces = may_have_namespaces()
    given.jobs = given.jobs or (os.cpu_count() if plan.namespaces else 1)
    given.runs = given.runs or (sys.maxsize if given.time_s else DEFAULT_RUNS)
    return plan


def may_have_namespaces():
    """Tries in a child, which ends."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if process.network_of_its_own() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class State:
    """The numbers of the worlds that are still to be tried, by program, seed and group."""

    def __init__(self, folder, given):
        self.path = os.path.join(folder, "state.json")
        program = hashlib.sha256("\0".join(given.program).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self.key = f"{program}/{given.seed}/{given.worlds}"
        try:
            with open(self.path, encoding="utf-8") as file:
                self.next = json.load(file)
        except (OSError, ValueError):
            self.next = {}

    def first(self):
        return self.next.get(self.key, 0)

    def save(self, number):
        self.next[self.key] = number
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self.next, file, indent=1)


def explore(found, given, state):
    opcodes = found.plain()
    drawer = draw.Drawer(given.seed, given.worlds, opcodes)
    first = state.first()
    number = found.run(drawer, first)
    state.save(number)
    found.reduce_all()
    return number - first


def main(argv):
    command, argv = argv[0], argv[1:]
    if argv == ["--completion"]:
        print(COMPLETION.format(groups="|".join(draw.GROUPS)))
        return 0
    given = arguments(argv)
    plan, began = plan_of(command, given), time.monotonic()
    told = output.Progress(given.runs if given.runs != sys.maxsize else 0, given.time_s)
    try:
        os.makedirs(given.state, exist_ok=True)
    except OSError as error:
        print(f"rxe_dm: --state {given.state}: {error.strerror}", file=sys.stderr)
        return 2
    found = search.Search(plan, given, told)
    try:
        done = explore(found, given, State(given.state, given))
    except search.Unfit as error:
        told.end()
        print(f"rxe_dm: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        told.end()
        return 130
    finally:
        found.close()
    told.end()
    groups, spent = list(found.groups.values()), time.monotonic() - began
    print(output.summary(groups, done, spent))
    if given.junit:
        output.write_junit(given.junit, os.path.basename(given.program[0]), groups, done, spent)
    return 1 if groups else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
