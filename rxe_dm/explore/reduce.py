# SPDX-License-Identifier: MIT
"""Makes a failing world smaller: takes items away, then makes numbers smaller, while it still fails often enough."""

import re

TRIES, LAST_TRIES = 4, 10
NTH = re.compile(r"nth=(\d+)(?:\.\.(\d+))?")
SELECTORS = re.compile(r" (?:attempt|dir|qp)=\S+")
TIME = re.compile(r"time=(\d+)(us|ms)")


def smaller(item):
    """Simpler forms of one item, the simplest first."""
    found = []
    nth = NTH.search(item)
    if nth:
        low, high = int(nth[1]), int(nth[2] or nth[1])
        if high > low:
            found.append(NTH.sub(f"nth={low}", item))
        found += [NTH.sub(f"nth={value}", item) for value in (1, low // 2, low - 1) if 0 < value < low]
    time = TIME.search(item)
    if time and int(time[1]) > 1:
        found.append(TIME.sub(f"time={int(time[1]) // 2}{time[2]}", item))
    for extra in SELECTORS.findall(item):
        found.append(item.replace(extra, ""))
    return list(dict.fromkeys(found))


class Reducer:
    """many(worlds): the results of several trials; key: of the group, or None where any failure counts."""

    def __init__(self, many, key=None):
        self.many, self.key = many, key
        self.trials, self.taken = 0, []  # worlds that failed, each smaller than the one before

    def failures(self, made, tries):
        results = self.many([made] * tries)
        self.trials += tries
        return sum(bool(result.failed) and (self.key is None or result.failed == self.key[0]) for result in results)

    def still_fails(self, made, needed=TRIES // 2):
        """Half of the trials: less is too seldom to be of use."""
        if self.failures(made, TRIES) < needed:
            return False
        self.taken.append(made)
        return True

    def choose(self, worlds, enough):
        """The first of the worlds that fails in half of the trials, or the one that fails most: a world may have failed by chance."""
        best, most = worlds[0], -1
        for made in worlds:
            if enough():
                break
            count = self.failures(made, TRIES)
            if count > most:
                best, most = made, count
            if 2 * count >= TRIES:
                break
        return best

    def reduce(self, made, enough):
        """enough(): True where the time is over. Returns the smaller world."""
        self.taken = [made]
        made, changed = self.take_away(made, enough), True
        while changed and not enough():
            changed = False
            for item in made.items:
                for form in smaller(item):
                    if not enough() and self.still_fails(made.replaced(item, form), TRIES):
                        made, changed = made.replaced(item, form), True
                        break
                if changed:
                    break
        return made

    def take_away(self, made, enough):
        """First halves, then single items, until none can go."""
        size = len(made.items) // 2
        while size >= 1 and len(made.items) > 1 and not enough():
            at = 0
            while at < len(made.items) and len(made.items) > 1 and not enough():
                fewer = type(made)(made.items[:at] + made.items[at + size:], made.seed)
                if fewer.items and self.still_fails(fewer):
                    made = fewer
                else:
                    at += size
            size = min(size // 2, len(made.items) // 2) if size > 1 else 0
        return made


def settle(reducer, empty, tries=LAST_TRIES):
    """The smallest of the worlds that were taken that fails in half of the trials, or in most. Returns it, and a sentence: "fails 9 of 10
    times with this line, 0 of 10 without: ..."."""
    best, most = reducer.taken[-1], -1
    for made in reversed(reducer.taken):
        count = reducer.failures(made, tries)
        if count > most:
            best, most = made, count
        if 2 * most >= tries:
            break
    without = reducer.failures(empty, tries)
    lines = len(best.lines())
    which = "this line" if lines == 1 else f"these {lines} lines"
    return best, f"fails {most} of {tries} times with {which}, {without} of {tries} without: {best.describe()}"
