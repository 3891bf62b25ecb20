# SPDX-License-Identifier: MIT
"""Where the time of one perftest pair goes: processor time of both programs by mode, system calls, functions. Called by tests/bench/run."""

import os
import re
import subprocess
import tempfile

from instance import Instance, free_port, need_program, search_path
from program import Failure, Skip, until

CALLS = ["sendmmsg", "sendmsg", "recvmmsg", "recvmsg", "futex", "sched_yield", "ppoll", "epoll_pwait2", "write"]
FUNCTIONS = 15
LIMIT_S = 120
# What a run of so few messages takes is taken for the start and the end of the programs.
FEW = 512
# At its start perftest finds the processor's frequency: half a second of calls that tell nothing of us.
START = "gettimeofday"
# valgrind is 50 times slower, and counts instructions: a few do.
CALLGRIND_DIVISOR = 10


def run_pair(build, link, args, iters, tool=lambda end: []):
    """Client and server, each under a tool that may be another one for each end; the usage of both."""
    port = str(free_port())
    command = [args[0], "-p", port, *args[1:], "-n", str(iters), "-F", "-x", "0"]
    with Instance(build, "profile", link=link) as instance:
        server = instance.start([*tool("server"), *command])
        server.wait_listening(int(port))
        client = instance.start([*tool("client"), *command, instance.peer_name])
        return [ended(program) for program in (client, server)]


def ended(program):
    """The usage of a program that has ended well."""
    found = []

    def is_over():
        pid, status, usage = os.wait4(program.pid, os.WNOHANG)
        found[:] = [status, usage]
        return pid != 0

    until(is_over, f"end of {program.title}", LIMIT_S)
    program.process.returncode = os.waitstatus_to_exitcode(found[0])
    if found[0]:
        raise Failure(f"{program.title}: {program.text()}")
    return found[1]


def calls_of(path):
    with open(path, encoding="utf-8") as f:
        return {fields[1].rpartition("_enter_")[2]: int(fields[0]) for fields in map(str.split, f)
                if len(fields) > 1 and fields[0].isdigit()}


def count_calls(build, link, args, iters):
    """System calls a message of client and server, by name."""
    need_program("perf")
    if os.geteuid() != 0:
        raise Skip("perf counts system calls for root only")
    events = ",".join(f"syscalls:sys_enter_{call}" for call in CALLS)
    with tempfile.TemporaryDirectory() as folder:
        run_pair(build, link, args, iters, lambda end: ["perf", "stat", "-o", os.path.join(folder, end), "-e", events, "--"])
        return [{call: calls / iters for call, calls in calls_of(os.path.join(folder, end)).items()}
                for end in ("client", "server")]


def by_samples(build, link, args, iters, folder):
    """What perf samples, as lines for each end: percent of the processor time, object, function."""
    run_pair(build, link, args, iters, lambda end: ["perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "-o",
                                                    os.path.join(folder, end), "--"])
    return {end: report(["perf", "report", "-q", "-i", os.path.join(folder, end), "--stdio", "--no-children", "--sort", "dso,symbol"],
                        r"^ +([\d.]+)% +(\S+) +\[.\] (\S+)") for end in ("client", "server")}


def by_instructions(build, link, args, iters, folder):
    """The same of instructions in user mode."""
    need_program("valgrind")
    run_pair(build, link, args, max(1, iters // CALLGRIND_DIVISOR),
             lambda end: ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={os.path.join(folder, end)}"])
    found = {end: report(["callgrind_annotate", os.path.join(folder, end)], r"^ *[\d,]+ \( *([\d.]+)%\) +(?:\S*/)?(\S+) \[(\S+)\]")
             for end in ("client", "server")}
    return {end: [(percent, os.path.basename(of), name) for percent, name, of in rows] for end, rows in found.items()}


def report(command, row):
    """The first rows without the start of the programs, in percent of the rest."""
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ, PATH=search_path())).stdout
    rows = [(float(percent), *names) for percent, *names in re.findall(row, text, re.MULTILINE)]
    rest = 100 - sum(percent for percent, *names in rows if any(START in name for name in names))
    return [(100 * percent / rest, *names) for percent, *names in rows if not any(START in name for name in names)][:FUNCTIONS]


def show_modes(build, link, args, iters):
    few, many = (run_pair(build, link, args, n) for n in (FEW, iters))
    print(f"  {'':8}{'us of processor time a message':>32}{'user':>8}{'kernel':>8}{'switches':>10}")
    for name, start, usage in zip(("client", "server"), few, many):
        user, kernel, switches = ((getattr(usage, what) - getattr(start, what)) / (iters - FEW) for what in
                                  ("ru_utime", "ru_stime", "ru_nvcsw"))
        print(f"  {name:8}{1e6 * (user + kernel):>32.2f}{1e6 * user:>8.2f}{1e6 * kernel:>8.2f}{switches:>10.2f}")


def show_calls(build, link, args, iters):
    for name, calls in zip(("client", "server"), count_calls(build, link, args, iters)):
        print(f"  {name}: system calls a message: " + ", ".join(f"{call} {rate:.2f}" for call, rate in calls.items() if rate >= 0.005))


def show_functions(build, link, args, iters):
    with tempfile.TemporaryDirectory() as folder:
        try:
            need_program("perf")
            what, ends = "processor time, by samples", by_samples(build, link, args, iters, folder)
        except (Skip, Failure):
            what, ends = "instructions in user mode", by_instructions(build, link, args, iters, folder)
    for end, rows in ends.items():
        print(f"  {end}: {what}")
        for percent, of, name in rows:
            print(f"    {percent:6.1f}%  {of:24} {name}")


def show(build, link, name, args, iters):
    print(f"{name}, link {link}, {iters} messages")
    for part in (show_modes, show_calls, show_functions):
        try:
            part(build, link, args, iters)
        except Skip as why:
            print(f"  {part.__name__.removeprefix('show_')}: {why}")
