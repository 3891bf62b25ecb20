# SPDX-License-Identifier: MIT
"""The search: trials in many worlds, several at a time, failures in groups, each group reduced to a world file."""

import os
import subprocess
import sys
import time

import pool
import reduce
import trial
import world

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
import pcapng  # noqa: E402
import wire  # noqa: E402

MOST_GROUPS = 5
MOST_CANDIDATES = 8
SEARCH_SHARE = 0.6  # of the time; the rest is for reducing
PLAIN_RUNS = 2
RECORD_TRIES = 5


class Group:
    """Failures of one key. world: the smallest that failed; worlds: the smallest ones; count: how many did. sentence, report: once it is
    reduced; a report is there if a run of the reduced world failed again."""

    def __init__(self, number, made, result):
        self.number, self.world, self.worlds, self.result, self.count = number, made, [made], result, 1
        self.sentence, self.folder, self.report = "", "", ""

    def add(self, made):
        self.count += 1
        self.worlds = sorted([*self.worlds, made], key=lambda one: len(one.items))[:MOST_CANDIDATES]
        self.world = self.worlds[0]


class Unfit(Exception):
    """The program cannot be explored, and why."""


def opcodes_of(folder):
    """Names of the opcodes in a record; None: it has no packets."""
    try:
        packets, _ = pcapng.read(os.path.join(folder, "packets.pcapng"))
    except (OSError, pcapng.NotACapture):
        return None
    return {wire.name(packet.transport[0]) for packet in packets} or None


class Search:
    """plan: how to run; told: shows progress (output.Progress)."""

    def __init__(self, plan, options, told):
        self.plan, self.options, self.told = plan, options, told
        self.deadline = time.monotonic() + options.time_s if options.time_s else None
        self.began, self.trials, self.groups = time.monotonic(), 0, {}
        self.pool = pool.Pool(options.jobs, trial.run)

    def close(self):
        self.pool.close()

    def start(self, made, folder=None):
        self.trials += 1
        self.pool.start(made, (self.plan, made, f"explore-{os.getpid()}-{self.trials}", folder))

    def next(self):
        """World and result of the next trial that ends."""
        made, result = self.pool.next()
        if result is None or result.broken:
            raise Unfit(f"{result.broken if result else 'a trial died'} (world: {made.describe()})")
        return made, result

    def many(self, worlds, folder=None):
        """The results of one trial in each world, in any order."""
        waiting, results = list(worlds), []
        while waiting or self.pool.trials:
            while waiting and not self.pool.is_full():
                self.start(waiting.pop(0), folder)
            results.append(self.next()[1])
        return results

    def is_over(self, share=1.0):
        if self.deadline is None:
            return False
        return time.monotonic() > self.began + share * (self.deadline - self.began)

    def share(self):
        """Of the time, for the search: while nothing has failed there is nothing to reduce."""
        return SEARCH_SHARE if self.groups else 1.0

    def plain(self):
        """The program without faults: it must end well, and its time bounds that of trials. Returns the opcodes it sent."""
        folder = os.path.join(self.options.state, "plain")
        results = self.many([world.World()], folder) + self.many([world.World()] * (PLAIN_RUNS - 1))
        for result in results:
            if result.failed:
                raise Unfit(f"the program fails without any fault: {result.sentence()}")
        if self.plan.timeout_s is None:
            self.plan.timeout_s = 10 + 10 * max(result.seconds for result in results)
        return opcodes_of(folder)

    def run(self, drawer, first):
        """Tries worlds until the runs or the time are used up. Returns the number of the next world."""
        number, done = first, 0
        while True:
            while not self.pool.is_full() and number - first < self.options.runs and not self.is_over(self.share()):
                self.start(drawer.world(number))
                number += 1
            if not self.pool.trials:
                return number
            made, result = self.next()
            done += 1
            if result.failed:
                self.add(made, result)
            self.told.tried(done, sum(group.count for group in self.groups.values()), len(self.groups))

    def add(self, made, result):
        group = self.groups.get(result.key())
        if group:
            group.add(made)
            return
        group = self.groups[result.key()] = Group(len(self.groups) + 1, made, result)
        self.told.found(group)

    def reduce_all(self):
        """Once the time is over, the first failure is counted in a few runs, and the others are written as they were found."""
        for key, group in list(self.groups.items())[:MOST_GROUPS]:
            if group.number == 1 or not self.is_over():
                self.reduce(key, group)
            self.write(group)

    def reduce(self, key, group):
        self.told.reducing(group)
        reducer = reduce.Reducer(self.many, key)
        reducer.reduce(reducer.choose(group.worlds, self.is_over), self.is_over)
        group.world, group.sentence = reduce.settle(reducer, world.World(), reduce.TRIES if self.is_over() else reduce.LAST_TRIES)
        self.told.reduced(group, reducer.trials)

    def write(self, group):
        """The world file, and of a reduced world a record of a run that fails, and its report."""
        group.folder = os.path.join(self.options.state, f"failure-{group.number}")
        os.makedirs(group.folder, exist_ok=True)
        with open(os.path.join(group.folder, "world"), "w", encoding="utf-8") as file:
            file.write(f"# {group.sentence or 'not reduced'}\n# {group.result.sentence()}\n{group.world.text()}\n")
        if group.sentence:
            self.record(group)

    def record(self, group):
        record = os.path.join(group.folder, "record")
        for _ in range(1 if self.is_over() else RECORD_TRIES):
            if self.many([group.world], record)[0].failed:
                report = os.path.join(group.folder, "report.html")
                done = subprocess.run([self.plan.command, "report", record, "-o", report], stdout=subprocess.DEVNULL, stderr=sys.stderr,
                                      check=False)
                group.report = report if done.returncode == 0 else ""
                return
