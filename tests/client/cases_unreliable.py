# SPDX-License-Identifier: MIT
"""UC and UD through faults: how many messages arrive is known exactly from what the rules say they did, and none is spoiled."""

import os
import re

from cases_faults import add, fired
from instance import Instance
from program import Failure

MESSAGES = 400
COUNTS = re.compile(r"(\d+) sent, (\d+) arrived, (\d+) of them for the first time")


def lost(counts):
    return MESSAGES - sum(counts), MESSAGES - sum(counts)


def doubled(counts):
    return MESSAGES + sum(counts), MESSAGES


def unharmed(_counts):
    return MESSAGES, MESSAGES


def lost_and_doubled(counts):
    return MESSAGES - counts[0] + counts[1], MESSAGES - counts[0]


# Rules; (messages that arrive, how many of them for the first time) by how often each fired.
UD = [
    (["drop probability=10% seed=1 dir=out"], lost),
    (["drop probability=10% seed=1 dir=in"], lost),
    (["drop probability=10% seed=1"], lost),
    (["duplicate probability=50% seed=2 dir=out"], doubled),
    (["duplicate probability=50% seed=2 dir=in"], doubled),
    (["corrupt probability=10% seed=3 part=payload dir=in"], lost),
    (["corrupt probability=10% seed=3 part=icrc dir=out"], lost),
    (["truncate probability=10% seed=4 keep=60 dir=in"], lost),
    (["delay probability=10% seed=5 time=2ms"], unharmed),
    (["reorder probability=10% seed=6"], unharmed),
    (["drop probability=10% seed=7 dir=out", "duplicate probability=20% seed=8 dir=in"], lost_and_doubled),
]

# Three packets a message, of which one is hit at most: then the message is absent, and no other.
UC = [
    (["drop probability=10% seed=1 opcode=UC_SEND_FIRST dir=out"], lost),
    (["drop probability=10% seed=1 opcode=UC_SEND_MIDDLE dir=out"], lost),
    (["drop probability=10% seed=1 opcode=UC_SEND_LAST* dir=in"], lost),
    (["corrupt probability=10% seed=3 part=payload opcode=UC_SEND_MIDDLE dir=in"], lost),
    (["truncate probability=10% seed=4 keep=60 opcode=UC_SEND_MIDDLE dir=out"], lost),
]
# Here a fault may hit one message twice, or the next one as well: the case states bounds.
UC_ANY = ["drop probability=5% seed=1", "duplicate probability=5% seed=2", "reorder probability=5% seed=3",
          "delay probability=5% seed=4 time=1ms", "corrupt probability=5% seed=5"]


def run(instance, build, service, size, rules):
    instance.command("fault", "clear")
    add(instance, *rules)
    text = instance.run([os.path.join(build, "tests", "client", "verbs_count"), service, str(size)])
    found = COUNTS.search(text)
    counts = fired(instance)
    print(f"{service} {size} {rules}: fired {counts}: {found and found.group(0)}", flush=True)
    if not found or not all(counts):
        raise Failure(f"{rules}: fired {counts}, no word of what arrived:\n{text}")
    return counts, int(found.group(2)), int(found.group(3))


def exact(instance, build, service, size, table):
    for rules, expected in table:
        counts, arrived, distinct = run(instance, build, service, size, rules)
        if (arrived, distinct) != expected(counts):
            raise Failure(f"{service} {rules}: fired {counts}: {arrived} arrived, {distinct} of them for the first "
                          f"time; expected {expected(counts)}")


def datagrams(build):
    with Instance(build, "count_ud") as instance:
        instance.command("start")
        exact(instance, build, "ud", 4000, UD)
        exact(instance, build, "ud", 64, UD[:2])


def connections(build):
    with Instance(build, "count_uc") as instance:
        instance.command("start")
        exact(instance, build, "uc", 2500, UC)
        exact(instance, build, "uc", 500, UD[:3])
        for rule in UC_ANY:
            counts, arrived, distinct = run(instance, build, "uc", 2500, [rule])
            if distinct > MESSAGES or distinct < MESSAGES - 3 * counts[0]:
                raise Failure(f"uc {rule}: fired {counts}, {arrived} arrived")


CASES = {"count_ud": datagrams, "count_uc": connections}
