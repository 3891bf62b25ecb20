# SPDX-License-Identifier: MIT
"""What a person sees while worlds are tried, and what CI reads: a bar on a terminal, lines elsewhere, JUnit XML."""

import sys
import time
import xml.etree.ElementTree

BAR = 30


class Progress:
    """Writes to standard error; standard output has the results only."""

    def __init__(self, runs, time_s):
        self.runs, self.time_s, self.began = runs, time_s, time.monotonic()
        self.terminal = sys.stderr.isatty()

    def line(self, text):
        if self.terminal:
            sys.stderr.write("\r\033[K")
        print(text, file=sys.stderr, flush=True)

    def tried(self, done, failures, distinct):
        if not self.terminal:
            return
        seconds = time.monotonic() - self.began
        share = max(done / self.runs if self.runs else 0, seconds / self.time_s if self.time_s else 0, 0.001)
        left = seconds / share - seconds
        full = min(BAR, int(BAR * share))
        sys.stderr.write(f"\r\033[K[{'#' * full}{'.' * (BAR - full)}] {done} runs, {failures} failed, {distinct} distinct, "
                         f"about {left:.0f} s left")
        sys.stderr.flush()

    def found(self, group):
        self.line(f"failure {group.number}: {group.result.sentence()}")
        self.line(f"  with {group.world.describe()}")

    def reducing(self, group):
        self.line(f"reducing failure {group.number}")

    def reduced(self, group, trials):
        self.line(f"  {trials} trials")

    def end(self):
        if self.terminal:
            sys.stderr.write("\r\033[K")


def summary(groups, done, seconds):
    """Text for standard output."""
    lines = [f"{done} worlds in {seconds:.0f} s: {sum(group.count for group in groups)} failed, in {len(groups)} way"
             f"{'s' * (len(groups) != 1)}"]
    for group in groups:
        lines += ["", f"failure {group.number}: {group.result.sentence()}"]
        if not group.sentence:
            lines.append(f"  {group.count} times, not reduced: {group.world.describe()}")
            continue
        lines += [f"  {group.sentence}", f"  again: rxe_dm run --world {group.folder}/world PROGRAM"]
        lines += [f"  look: {group.report}"] * bool(group.report)
    return "\n".join(lines)


def write_junit(path, program, groups, done, seconds):
    """One test case for each way to fail; one that passes, where there is none."""
    suite = xml.etree.ElementTree.Element("testsuite", name="rxe_dm explore", tests=str(max(1, len(groups))), failures=str(len(groups)),
                                          errors="0", time=f"{seconds:.3f}")
    for group in groups:
        case = xml.etree.ElementTree.SubElement(suite, "testcase", classname=program, name=group.result.failed)
        failure = xml.etree.ElementTree.SubElement(case, "failure", message=group.sentence or group.result.sentence())
        failure.text = clean(f"{group.result.sentence()}\n{group.world.text()}\n")
    if not groups:
        xml.etree.ElementTree.SubElement(suite, "testcase", classname=program, name=f"{done} worlds")
    xml.etree.ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def clean(text):
    """Without what XML cannot hold."""
    return "".join(c for c in text if c in "\n\t" or ord(c) >= 32)
