# SPDX-License-Identifier: MIT
"""Runs the tests of a room against one mutant at a time, each in namespaces of its own where that is permitted."""

import hashlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import time
from collections import namedtuple

import rooms

# cost_s: processor time and time of a plain run; reach: one byte for each mutant.
Test = namedtuple("Test", "name command env wall_s cpu_s reach workdir")

REACH_BYTES = 65536
ALONE = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c",
         "ip link set lo up; mount -t tmpfs tmpfs /dev/shm; mkdir -p /run/netns; mount -t tmpfs tmpfs /run/netns; exec \"$@\"", "test"]


def may_be_alone():
    return subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0


class Runner:
    def __init__(self, room, build, tree, root):
        self.build, self.tree, self.root = build, tree, root
        self.alone = ALONE if may_be_alone() else []
        info = build / "meson-info"
        targets = json.loads((info / "intro-targets.json").read_text())
        files = {t["id"]: t["filename"] for t in targets}
        sources = {f: [s for group in t["target_sources"] for s in group.get("sources", [])] for t in targets for f in t["filename"]}
        self.planned, self.targets, self.digests = [], set(), {}
        for test in json.loads((info / "intro-tests.json").read_text()):
            suite = test["suite"][0].split(":")[-1]
            if not rooms.is_test_of(room, suite, test["name"]):
                continue
            command = [part.replace("..", str(tree)) if part == ".." else part for part in test["cmd"]]
            command = command[:1] + rooms.SHORT[test["name"]] if test["name"] in rooms.SHORT else command
            env = test["env"] | ({"CK_RUN_CASE": rooms.CASES[test["name"]]} if test["name"] in rooms.CASES else {})
            self.planned.append((test["name"], command, env, test["workdir"]))
            self.targets.update(os.path.relpath(f, build) for d in test["depends"] for f in files.get(d, []))
            self.digests[test["name"]] = self.digest(test["name"], suite, sources.get(command[0], []))
        self.tests = []

    def digest(self, name, suite, sources):
        """Of what makes the test: its sources, or for a client case the case and its program."""
        if suite == "client":
            folder = self.root / "tests/client"
            sources = [*folder.glob("cases_*.py"), *folder.glob(f"{name}.c")]
        made = hashlib.sha256(name.encode())
        for path in sorted(map(pathlib.Path, sources)):
            if path.is_file() and "tests" in path.parts:
                made.update(path.read_bytes())
        return made.hexdigest()

    def run(self, command, extra, workdir, wall_s, cpu_s):
        """("passed", "failed" or "late", seconds, processor seconds)."""
        def limit():
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # A capture has a ring of 16 MiB for each of 256 processes, in one file of little more than 4 GiB, most of it never written.
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 33, 1 << 33))
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        child = subprocess.Popen([*self.alone, *command], env=os.environ | extra, cwd=workdir or self.build, preexec_fn=limit,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            outcome = "failed" if child.wait(wall_s) else "passed"
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            outcome = "late"
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return outcome, time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def record(self, reach):
        """Runs each test without a fault, and notes what it reaches. libcheck's forks cost more than most tests: without
        them where the test permits. One that needs them may loop, so the first try is short."""
        for name, command, env, workdir in self.planned:
            for forks, wall_s, cpu_s in (("no", 60, 20), ("yes", 300, 200)):
                reach.write_bytes(bytes(REACH_BYTES))
                os.chmod(reach, 0o666)
                extra = env | {"CK_FORK": forks, "CK_DEFAULT_TIMEOUT": "60"}
                outcome, wall_s, cpu_s = self.run(command, extra | {"MUTANT_REACH": str(reach)}, workdir, wall_s, cpu_s)
                if outcome == "passed":
                    break
            if outcome != "passed":
                print(f"# {name} fails or is skipped without a fault: left out", flush=True)
                del self.digests[name]
                continue
            self.tests.append(Test(name, command, extra, wall_s, cpu_s, reach.read_bytes(), workdir))
        self.tests = sorted((t for t in self.tests if any(t.reach)), key=lambda t: t.wall_s)
        print("# " + ", ".join(f"{t.name} {t.wall_s:.1f} s" for t in self.tests), flush=True)

    def reaching(self, number):
        return [t for t in self.tests if t.reach[number]]

    def catcher(self, number, tests):
        """The first test that fails, or None."""
        for test in tests:
            if self.fails(test, str(number)):
                return test.name
        return None

    def fails(self, test, mutant):
        """The limit of processor time ends loops, whatever else the machine does. A busy machine fails no mutant: a failure must
        repeat itself, and a test that is late counts only if it is in time without a fault just afterwards."""
        wall_s, cpu_s = 10 + 8 * test.wall_s, 2 + int(3 * test.cpu_s)
        for _ in range(2):
            outcome, _, _ = self.run(test.command, test.env | {"MUTANT": mutant}, test.workdir, wall_s, cpu_s)
            if outcome == "passed":
                return False
            if outcome == "late":
                return self.run(test.command, test.env, test.workdir, wall_s, cpu_s)[0] == "passed"
        return True
