# SPDX-License-Identifier: MIT
"""RC programs through a bad network, made by fault rules, over the UDP link and over veth: intact, or not at all.

In the suite each pair of programs runs once and briefly. By hand, longer, with a table in the end:

    python3 -B tests/client/cases_loss.py BUILD [TIMES_AS_LONG]"""

import contextlib
import functools
import os
import re
import sys
import tempfile
import time

from cases_capture import Taken
from cases_faults import add, fired
from cases_perftest import TROUBLE
from cases_veth import device, need_strict
from instance import Instance
from namespaces import Pair
from program import Failure, Skip

FAULTS = {
    "loss_1": "drop probability=1% seed=1",
    "loss_5": "drop probability=5% seed=2",
    "reorder_1": "reorder probability=1% seed=3",
    "duplicate_1": "duplicate probability=1% seed=4",
    # The ICRC is checked whole on both links: peers of this host, and frames (docs/DEVIATIONS.md, IP identification).
    "corrupt_01": "corrupt probability=0.1% seed=5",
}

# What each program is asked for, and how often.
PERFTEST = {"ib_send_lat": ([], 200), "ib_write_lat": ([], 200), "ib_read_lat": ([], 200), "ib_atomic_lat": ([], 200),
            "ib_send_bw": (["-s", "65536"], 50), "ib_write_bw": (["-s", "65536"], 50), "ib_read_bw": (["-s", "65536"], 50),
            "ib_atomic_bw": ([], 300)}
PINGPONG = {"ibv_rc_pingpong": (["-c", "-g", "0", "-s", "8192"], 200), "ibv_srq_pingpong": (["-c", "-g", "0"], 100)}


def programs(times):
    """Command lines."""
    for name, (args, n) in PERFTEST.items():
        yield [name, *args, "-F", "-x", "0", "-n", str(n * times)]
    for name, (args, n) in PINGPONG.items():
        yield [name, *args, "-n", str(n * times)]


@contextlib.contextmanager
def udp(build, name):
    with Instance(build, name) as instance:
        yield instance, instance


@contextlib.contextmanager
def veth(build, name):
    with Pair() as pair, device(build, name, pair, 0) as here, device(build, name, pair, 1) as there:
        yield here, there


LINKS = {"udp": udp, "veth": veth}


def through(here, there, args):
    """One pair of programs; seconds."""
    begun = time.monotonic()
    for text in here.pair(args, peer=there, timeout_s=120):
        found = TROUBLE.search(text)
        if found:
            raise Failure(f"{' '.join(args)}: '{found.group(0)}'")
    return time.monotonic() - begun


def all_programs(build, link, fault, times=1):
    """Every program through one fault: what it took, and how often the rule fired at each."""
    rows = []
    with LINKS[link](build, f"{link}_{fault}"[:16]) as (here, there):
        instances = [here] if here is there else [here, there]
        for instance in instances:
            instance.command("start")
            add(instance, FAULTS[fault])
        before = 0
        for args in programs(times):
            seconds = through(here, there, args)
            count = sum(sum(fired(instance)) for instance in instances)
            rows.append((args[0], count - before, seconds))
            print(f"{link} {fault} {args[0]}: fired {count - before}, {seconds:.1f} s", flush=True)
            before = count
        if not all(sum(fired(instance)) for instance in instances):
            raise Failure("a rule did not fire")
        if fault != "corrupt_01":
            need_strict(*instances)
    return rows


# By dice: what comes at every Nth packet may hit the same one at each attempt.
MARKED = ["drop probability=2% seed=1 dir=out", "duplicate probability=4% seed=2 dir=out",
          "drop probability=2% seed=3 dir=in", "corrupt probability=3% seed=4 dir=in part=payload opcode=SEND_*,READ_RESP*"]


def marked_over_veth(build):
    """Rules fire on frames as on datagrams, both ways, and each firing is marked in a capture of that side."""
    with veth(build, "vmark") as (here, there), tempfile.TemporaryDirectory() as folder:
        for instance in (here, there):
            instance.command("start")
            add(instance, *MARKED)
        taken = Taken(here, folder, "--buffer", "64")
        for args in (["ib_send_bw", "-F", "-x", "0", "-n", "100", "-s", "8192"],
                     ["ib_read_bw", "-F", "-x", "0", "-n", "100", "-s", "8192"],
                     ["ibv_rc_pingpong", "-c", "-g", "0", "-n", "50"]):
            through(here, there, args)
        _, missed = taken.end()
        counts, packets, seen = fired(here), taken.packets(), here.show()["devices"][0]["counters"]
        marks = [int(mark[1]) if (mark := re.search(r"; fault (\d+): ", p.comment)) else 0 for p in packets]
        spoiled = sum(not p.icrc_is_good() for p in packets)
        print(f"{len(packets)} captured, {missed} missed, fired {counts}, there {fired(there)}, {spoiled} spoiled; {seen}")
        if not all(counts) or not all(fired(there)):
            raise Failure("a rule did not fire")
        if [marks.count(i + 1) for i in range(4)] != [counts[0], 2 * counts[1], counts[2], counts[3]]:
            raise Failure("not every fault that fired is marked, or others are")
        if spoiled != counts[3] or seen["rcvd_bad_icrc"] != counts[3]:
            raise Failure("spoiled packets are not those that the faults and counters name")


def by_hand(build, times):
    table = {}
    for link in LINKS:
        for fault in FAULTS:
            try:
                rows = all_programs(build, link, fault, times)
            except Skip as why:
                print(f"{link} {fault}: skipped: {why}")
                continue
            for program, count, _ in rows:
                table.setdefault(program, {})[f"{link} {fault}"] = count
    columns = [f"{link} {fault}" for link in LINKS for fault in FAULTS]
    print("| program | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for program, counts in table.items():
        print(f"| {program} | " + " | ".join(str(counts.get(column, "")) for column in columns) + " |")


CASES = {f"{link}_through_{fault}": functools.partial(all_programs, link=link, fault=fault)
         for link in LINKS for fault in FAULTS}
CASES["veth_faults_marked"] = marked_over_veth

if __name__ == "__main__":
    by_hand(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
