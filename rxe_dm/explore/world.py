# SPDX-License-Identifier: MIT
"""A world: what a run of a program finds otherwise than in an ordinary run. A file has one thing a line:

    worst 7,late_reads          the unkind device, as for rxe_dm run --worst
    fault drop opcode=SEND_*    a rule, as for rxe_dm fault add
    kill 2 after=50ms           the second program that opens the device is killed, 50 ms after it did

Lines that begin with # are comments."""

import re

SWITCHES = ("late_reads", "byte_order", "fill", "late_completions", "completion_order", "few_completions", "late_events", "qp_order")
KILL = re.compile(r"kill (\d+)(?: after=(\d+)ms)?")
WORST = re.compile(r"worst (\d+)((?:,-?\w+)*)")


class BadWorld(Exception):
    """A line that is none of the above."""


class World:
    """Items are lines, without `worst`: its switches are items of their own ("switch late_reads"), so that each can be left out.
    seed: of the unkind device."""

    def __init__(self, items=(), seed=1):
        self.items, self.seed = tuple(items), seed

    def __eq__(self, other):
        return self.text() == other.text()

    def __hash__(self):
        return hash(self.text())

    def switches(self):
        return [item.split()[1] for item in self.items if item.startswith("switch ")]

    def rules(self):
        return [item.removeprefix("fault ") for item in self.items if item.startswith("fault ")]

    def kills(self):
        """Pairs of program and milliseconds."""
        return [(int(found[1]), int(found[2] or 0)) for item in self.items if (found := KILL.fullmatch(item))]

    def worst(self):
        """The value of RXE_DM_WORST, or None."""
        switches = self.switches()
        if not switches:
            return None
        return ",".join([str(self.seed)] + ([] if len(switches) == len(SWITCHES) else switches))

    def lines(self):
        worst = self.worst()
        return ([f"worst {worst}"] if worst else []) + [item for item in self.items if not item.startswith("switch ")]

    def text(self):
        return "\n".join(self.lines())

    def without(self, item):
        return World([other for other in self.items if other != item], self.seed)

    def replaced(self, item, new):
        return World([new if other == item else other for other in self.items], self.seed)

    def describe(self):
        """One line for people."""
        words = [f"the unkind device's {', '.join(self.switches())} (seed {self.seed})"] if self.switches() else []
        words += self.rules()
        words += [f"program {number} killed after {after} ms" for number, after in self.kills()]
        return "; ".join(words) or "nothing"


def switches_of(words):
    """The switches that the words of a `worst` line turn on."""
    left_out = {word[1:] for word in words if word.startswith("-")}
    named = [word for word in words if not word.startswith("-")]
    return [switch for switch in named or SWITCHES if switch not in left_out]


def parse(text):
    """Raises BadWorld."""
    items, seed = [], 1
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        worst = WORST.fullmatch(line)
        if worst:
            seed = int(worst[1])
            items += [f"switch {switch}" for switch in switches_of([word for word in worst[2].split(",") if word])]
        elif line.startswith("fault ") or KILL.fullmatch(line):
            items.append(line)
        else:
            raise BadWorld(f"line {number}: '{line[:60]}': expected worst, fault or kill")
    return World(items, seed)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse(file.read())
