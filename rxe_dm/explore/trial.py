# SPDX-License-Identifier: MIT
"""One trial: the program once in a world, in an instance of its own, and what became of it."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import once
import process
import recorder

TAIL_BYTES = 1 << 20
MOST_STARVED = 9
LOOK_S = 0.5
CHECK_STATUS = 66
NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
NOISE = re.compile(r"^(?:\s*|=+|-+|rxe_dm: .*)$")


class Plan:
    """How to run a program and what counts as failed. timeout_s: None until a plain run has set it."""

    def __init__(self, command, program):
        self.command, self.program = command, program
        self.expect, self.timeout_s, self.fails_if, self.namespaces = 0, None, None, False
        self.check = []  # options of `rxe_dm run --check`; none: no checks


class Result:
    """failed: '' or in what way ("exit 1", "signal 6", "timeout", ...). last: the last line of its output that says something; causes:
    sentences about queue pairs that failed; findings: those of the checks; fired: how often each rule fired."""

    def __init__(self):
        self.failed, self.last, self.causes, self.fired, self.seconds, self.output = "", "", [], {}, 0.0, ""
        self.findings = []
        self.broken = ""  # the trial did not take place, and why

    def key(self):
        """Failures with the same key are one group: numbers in texts do not count."""
        cause = self.causes[0] if self.causes and not self.last else ""
        return (self.failed, NUMBERS.sub("N", self.last), NUMBERS.sub("N", cause))

    def sentence(self):
        words = [self.failed]
        if self.last:
            words.append(f"last line: {self.last}")
        if self.causes:
            words.append(f"{len(self.causes)} queue pair{'s' * (len(self.causes) != 1)} failed: {self.causes[0]}")
        return "; ".join(words)


def last_line(output):
    every = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in every if not NOISE.match(line)] or every
    return lines[-1][:200] if lines else ""


def found(result):
    """A run with findings. The ids make the group; the last line of the output is of the report. Notes fail no run."""
    wrong = [one for one in result.findings if one.get("level") != "note"]
    ids = sorted({f"{one['id']} {one['name']}" for one in wrong})
    result.failed = "finding " + ", ".join(ids) if ids else "a finding of --check"
    result.last = wrong[0]["text"][:200] if wrong else ""


def judge(result, code, plan):
    """Sets failed. code None: too late."""
    if code is None:
        result.failed = "timeout"
    elif code < 0:
        result.failed = f"signal {-code} ({signal.Signals(-code).name})"
    elif plan.check and code == CHECK_STATUS:
        found(result)
        return
    elif code != plan.expect:
        result.failed = f"exit {code}" + (f" (signal {signal.Signals(code - 128).name})" if 128 < code < 160 else "")
    elif plan.fails_if and re.search(plan.fails_if, result.output):
        result.failed = "a line that must not be there"
        result.last = next(line for line in result.output.splitlines() + [""] if re.search(plan.fails_if, line) or not line)[:200]
        return
    if result.failed:
        result.last = last_line(result.output)


def environment(plan, name):
    env = {key: value for key, value in os.environ.items() if key not in ("RXE_DM_WORST", "RXE_DM_FAULTS", "RXE_DM_RECORD")}
    env["RXE_DM_INSTANCE"] = name
    env["RXE_DM_WORST"] = "none"  # --check is kind where the world is
    if plan.namespaces:
        env["RXE_DM_ADDRESS"] = "127.0.0.1"
    return env


def shown_by(once_, *options):
    try:
        return json.loads(once_.rxe_dm("show", "--json", *options).stdout)
    except ValueError:
        return {}


def look(result, once_, plan):
    """What the device says at the end."""
    if plan.check:
        result.findings = shown_by(once_, "--findings").get("findings", [])
    for device in shown_by(once_).get("devices", []):
        result.causes += [f"{one['status']}: {one['cause']}" for one in device["failures"]]
        for one in device["faults"]:
            result.fired[one["rule"]] = one["fired"]


def in_time(child, timeout_s, clock=time.monotonic):
    """The exit code; None: it takes too long. The time for which it had no processor does not count, up to nine times the limit.
    timeout_s None: no limit."""
    if timeout_s is None:
        return child.wait()
    began = looked = clock()
    starved = process.Starvation(child.pid)
    while True:
        try:
            return child.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            now = clock()
        starved.look(now - looked)
        looked = now
        if now - began > timeout_s + min(starved.seconds, MOST_STARVED * timeout_s):
            return None


def wait(child, plan):
    """The exit code; None: it had to be ended."""
    try:
        return in_time(child, plan.timeout_s)
    finally:
        process.end_group(child.pid)
        child.wait()


def carry_out(once_, plan, folder, result):
    views, recording, killer = None, None, once.Killer(once_.made.kills())
    env = once_.env
    if folder:
        recording = recorder.Recorder(plan.command, env, folder)
        recording.run = {"command": plan.program, "world": once_.made.lines()}
        if recording.start(killer):
            env = recording.variables(env)
    elif killer.kills:
        views = recorder.Views(plan.command, env, None, 20, killer)
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        child = process.start(once_.arguments(), env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        code = wait(child, plan)
        result.seconds = time.monotonic() - began
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - TAIL_BYTES))
        result.output = output.read().decode("utf-8", "replace")
    if recording:
        recording.run.update(once.status_of(code) if code is not None else {"status": "timeout"})
        recording.end()
        with open(os.path.join(folder, "output.txt"), "w", encoding="utf-8") as file:
            file.write(result.output)
    if views:
        views.end()
    return code


def run(plan, made, name, folder=None):
    """In a process of its own (network namespace). folder: keeps a record there."""
    result = Result()
    if plan.namespaces and not process.network_of_its_own():
        result.broken = "no network namespace"
        return result
    once_ = once.Once(plan.command, environment(plan, name), plan.check, plan.program, made)
    try:
        result.broken = once_.begin(True)
        if not result.broken:
            code = carry_out(once_, plan, folder, result)
            look(result, once_, plan)
            judge(result, code, plan)
    finally:
        once_.finish(True)
    if folder and not result.failed and made.items:
        shutil.rmtree(folder, ignore_errors=True)
    return result
