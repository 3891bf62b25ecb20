# SPDX-License-Identifier: MIT
"""rxe_dm fault: programs come through what the rules do to their packets, and each rule says how often it fired."""

import json
import os
import re
import tempfile

from instance import Instance
from program import Failure

LOSS = ["drop probability=1% seed=7"]
# The timers are perftest's own: on a busy machine a peer may not run for as long as eight short ones last.
BW = ["-F", "-x", "0", "-q", "4"]


def add(instance, *rules):
    for rule in rules:
        done = instance.command("fault", "add", *rule.split())
        if done.returncode != 0:
            raise Failure(f"fault add {rule}: {done.returncode}: {done.stderr}")


def fired(instance):
    done = instance.command("fault", "list", "--json")
    if done.returncode != 0:
        raise Failure(f"fault list: {done.stderr}")
    return [row["fired"] for row in json.loads(done.stdout)]


def through(build, name, rules, *programs, must_fire=True):
    """Each pair of programs ends well, and each rule has fired."""
    with Instance(build, name, linger=0) as instance:
        instance.command("start")
        add(instance, *rules)
        for args in programs:
            instance.pair(args)
        counts = fired(instance)
        print(f"{rules}: fired {counts}")
        if must_fire and not all(counts):
            raise Failure(f"a rule did not fire: {rules}: {counts}")


def pingpong(build):
    """Intact (-c) through each kind of trouble."""
    for name, rule in (("loss_1", "drop probability=1% seed=7 dir=out opcode=SEND_*"),
                       ("reorder", "reorder probability=1% seed=7 dir=out opcode=SEND_*"),
                       ("duplicate", "duplicate probability=1% seed=7"),
                       ("corrupt", "corrupt probability=0.5% seed=7 dir=out opcode=SEND_*")):
        through(build, f"fault_{name}", [rule], ["ibv_rc_pingpong", "-c", "-g", "0", "-n", "300", "-s", "8192"])


def srq_pingpong(build):
    through(build, "fault_srq", ["drop probability=1% seed=7 dir=out opcode=SEND_*"],
            ["ibv_srq_pingpong", "-c", "-g", "0", "-n", "300"])


def goodbye(build):
    """The pingpongs end with their last completion: what is lost of the last ACK costs the other side nothing."""
    for program in ("ibv_rc_pingpong", "ibv_srq_pingpong"):
        for percent in (1, 5):
            rules = [f"drop probability={percent}% seed={percent}"]
            through(build, f"goodbye_{percent}", rules, *[[program, "-c", "-g", "0", "-n", "100"]] * 8)


def gone(build):
    """The ACK itself is dropped, and the first in its place: once with so few slots that the next process has the one before's."""
    for slots in (None, 3):
        with Instance(build, "gone", linger=0, **({"slots": slots} if slots else {})) as instance:
            instance.command("start")
            add(instance, "drop opcode=ACKNOWLEDGE dir=in nth=1..2")
            instance.run([os.path.join(build, "tests", "client", "verbs_gone")], timeout_s=120)
            if fired(instance)[0] < 12:
                raise Failure(f"ACKs were dropped {fired(instance)[0]} times only")


def perftest(build):
    """RC: all operations through one packet in a hundred lost."""
    through(build, "fault_perftest", LOSS,
            ["ib_send_bw", *BW, "-s", "65536", "-n", "100"], ["ib_write_bw", *BW, "-s", "65536", "-n", "100"],
            ["ib_read_bw", *BW, "-s", "65536", "-n", "100"], ["ib_atomic_bw", *BW, "-n", "500"])


def repeatable(build):
    """Two runs, whose first PSNs are chosen at random, lose the same packets."""
    counts = []
    for _ in range(2):
        with Instance(build, "fault_again", linger=0) as instance:
            instance.command("start")
            add(instance, "drop probability=3% seed=11 dir=out opcode=SEND_* attempt=0")
            instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "300"])
            counts.append(fired(instance))
    print(counts)
    if counts[0] != counts[1] or not counts[0][0]:
        raise Failure(f"two runs differ: {counts}")


def rnr_storm(build):
    """A responder that says it is not ready, five times: the requester waits and comes again."""
    through(build, "fault_rnr", ["rnr_nak dir=in opcode=SEND_ONLY nth=1..5 timer=1"],
            ["ib_send_lat", "-F", "-x", "0", "-n", "50"])


def command(build):
    """Rules by hand and by file, what is wrong with a bad one, and clearing."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rules")
        with open(path, "w", encoding="ascii") as f:
            f.write("# two rules\ndrop nth=3\n\ndelay time=5ms opcode=ACKNOWLEDGE\n")
        with Instance(build, "fault_command", faults=path) as instance:
            instance.command("start")
            rows = json.loads(instance.command("fault", "list", "--json").stdout)
            if [row["rule"].split()[0] for row in rows] != ["drop", "delay"]:
                raise Failure(f"the file's rules are {rows}")
            for bad, says in (("drop nht=3", "unknown word"), ("drop nth=0", "a count from 1"), ("lose", "known are drop")):
                done = instance.command("fault", "add", *bad.split())
                if done.returncode != 2 or says not in done.stderr:
                    raise Failure(f"{bad}: {done.returncode}: {done.stderr}")
            if instance.command("fault", "clear", "1").returncode != 0 or len(fired(instance)) != 1:
                raise Failure("one rule was to be cleared")
            if instance.command("fault", "clear", "1").returncode != 1:
                raise Failure("a rule that is gone was cleared")
            if instance.command("fault", "clear").returncode != 0 or fired(instance):
                raise Failure("all rules were to be cleared")
        with open(path, "w", encoding="ascii") as f:
            f.write("drop\nbend nth=1\n")
        with Instance(build, "fault_bad_file", faults=path) as instance:
            done = instance.command("start")
            if done.returncode == 0 or not re.search(r"line 2: unknown action 'bend'", done.stderr):
                raise Failure(f"a bad file: {done.returncode}: {done.stderr}")


CASES = {f"fault_{f.__name__}": f for f in (pingpong, srq_pingpong, goodbye, gone, perftest, repeatable, rnr_storm, command)}
