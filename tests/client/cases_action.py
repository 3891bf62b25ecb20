# SPDX-License-Identifier: MIT
"""The GitHub action (.github/actions/rxe_dm): its own steps, one after the other, and steps of a job behind them."""

import json
import os
import re
import shutil
import subprocess

from cases_install import find, run
from machine import ROOT, Machine, need_packages
from fenced import blocks
from program import Failure
from workflow import OWNER, VERSION, Job, load

ACTION = f"{OWNER}/rxe_dm/.github/actions/rxe_dm@v{VERSION}"
REPORT = f"{OWNER}/rxe_dm/.github/actions/rxe_dm/report@v{VERSION}"
PROGRAM = """#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context = devices && *devices ? ibv_open_device(*devices) : NULL;
	return context && puts(ibv_get_device_name(context->device)) >= 0 ? 0 : 1;
}
"""


def install(build, folder):
    """This build, below the folder; where its prefix is."""
    run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder])
    return os.path.dirname(os.path.dirname(find(folder, "rxe_dm", "bin")))


class Cached(Job):
    """A job that has this build in its cache."""

    def __init__(self, machine, env=None):
        super().__init__(machine, env)
        key = self.run('"$GITHUB_ACTION_PATH/key"', os.path.join(ROOT, ".github/actions/rxe_dm"))["key"]
        self.cache[key] = install(machine.build, os.path.join(machine.shared, "cached"))


def good(job):
    if job.failed:
        raise Failure("the job has failed:\n" + "\n".join(job.said))


def documented(build, name, packages, says, files=None, instead=None, ended=good):
    """A job of docs/CI.md, as it stands but for what is said instead of a word. ended: looks at the job."""
    need_packages("python3-yaml", *packages.split())
    row = next(load(block)["jobs"][name] for block in blocks("CI.md", "yaml") if f"  {name}:\n" in block)
    with Machine(build, installed=False) as machine:
        job = Cached(machine, row.get("env"))
        for path, text in (files or {}).items():
            with open(os.path.join(job.workspace, path), "w", encoding="utf-8") as f:
                f.write(text)
        job.run("ibv_devices")
        if "rxe_dm0" in job.said[-1]:
            raise Failure("the device is there before the action")
        job.failed = False
        for step in row["steps"]:
            for word, other in (instead or {}).items():
                step.update({"run": step["run"].replace(word, other)} if "run" in step else {})
        job.steps(row["steps"])
        ended(job)
        for pattern in says:
            if not re.search(pattern, "\n".join(job.said), re.M):
                raise Failure(f"no '{pattern}' in\n" + "\n".join(job.said))


def job_c(build):
    documented(build, "c", "gcc libibverbs-dev ibverbs-utils", ["^rxe_dm0$", "(1000 iters in.*[^$]*){2}"], {"your_program.c": PROGRAM})


def job_checked(build):
    """A program with findings: the step fails, and the findings have lines."""
    def ended(job):
        results = job.uploads.get("sarif", [])
        if not job.failed or "RXE-LIFE-002" not in [result["ruleId"] for result in results]:
            raise Failure(f"uploaded: {results}\n" + "\n".join(job.said))
        if not any(place["physicalLocation"]["artifactLocation"]["uri"].endswith("your_program.c")
                   for result in results for place in result["locations"]):
            raise Failure(f"no line of the program: {results}")

    documented(build, "checked", "gcc libibverbs-dev", [], {"your_program.c": PROGRAM}, ended=ended)


def job_explored(build):
    """The search for faults, and the files that the job keeps."""
    for test, fails in (("ibv_devinfo\n", False), ('ibv_devinfo && [ "$RXE_DM_WORST" = none ]\n', True)):
        def ended(job, fails=fails):
            kept = [os.path.join(job.workspace, path) for path in job.uploads["explore"].split()]
            with open(kept[0], encoding="utf-8") as f:
                if ("<failure" in f.read()) != fails or job.failed != fails:
                    raise Failure("\n".join(job.said))
            if fails:
                find(kept[1], "report.html")

        documented(build, "explored", "python3 ibverbs-utils", [], {"your_test": test}, {"./your_test": "sh ./your_test", "60s": "6s"}, ended)


def job_mpi(build):
    program = "from mpi4py import MPI\nprint('the sum is', MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank))\n"
    documented(build, "mpi", "openmpi-bin python3-mpi4py", ["(the sum is 6\n){4}"], {"your_program.py": program})


def job_python(build):
    program = "from pyverbs.device import Context\nprint(Context(name='rxe_dm0').query_device().max_qp)\n"
    documented(build, "python", "python3-pyverbs", [r"^\d\d+$"], {"your_program.py": program})


def failed(build):
    """A step fails: the report has the cause, and the packets."""
    need_packages("python3-yaml", "ibverbs-utils", "tshark")
    with Machine(build, installed=False) as machine:
        job = Cached(machine)
        pingpong = "ibv_rc_pingpong -g 0 -n 10 & sleep 2\nibv_rc_pingpong -g 0 -n 10 localhost"
        job.steps([{"uses": ACTION, "with": {"options": "--linger 5 --arena 1M", "link": "memory", "profile": "connectx"}}])
        good(job)
        job.steps([{"run": "rxe_dm fault add completion status=IBV_WC_RETRY_EXC_ERR nth=3"}, {"run": pingpong}, {"run": "echo skipped"},
                   {"uses": REPORT, "if": "failure()", "with": {"name": "evidence"}}])
        if not job.failed or "skipped" in job.said[-1] + job.said[-2]:
            raise Failure("the job goes on behind the failure")
        files = {name: os.path.join(job.uploads["evidence"], name) for name in os.listdir(job.uploads["evidence"])}
        with open(files["show.txt"], encoding="utf-8") as f:
            shown = f.read()
        if "fault rule" not in shown or "profile connectx" not in shown or shown not in job.said[-1]:
            raise Failure(f"the report says '{shown}'")
        with open(files["show.json"], encoding="utf-8") as f:
            if json.load(f)["devices"][0]["link"] != "memory":
                raise Failure("the device has another link")
        with open(files["capture.txt"], encoding="utf-8") as f:
            if "packets captured, 0 missed" not in f.read():
                raise Failure("the capture has not ended")
        with open(files["packets.html"], encoding="utf-8") as f:
            if "RC_SEND_LAST" not in f.read():
                raise Failure("the page lacks the packets")
        read = ["tshark", "-n", "-r", files["packets.pcapng"], "-Y", "infiniband"]
        if run(read).count("RC Send") < 2:
            raise Failure(f"the capture lacks the packets: {run(read)}")


def from_source(build):
    """Nothing is cached: the tree is built. Quickly, because the suite builds it often enough."""
    need_packages("python3-yaml", "ibverbs-utils")
    with Machine(build, installed=False) as machine:
        job = Job(machine, {"CFLAGS": "-O0 -g0"})
        job.steps([{"uses": ACTION, "with": {"capture": "false"}}, {"run": "ibv_devices; pkg-config --modversion rxe_dm"}])
        good(job)
        if "rxe_dm0" not in job.said[-1] or os.listdir(job.temp).count("rxe_dm-report"):
            raise Failure(f"the next step says '{job.said[-1]}'")


def make_package(build, folder):
    """A .deb of this build, as simple as can be."""
    root = os.path.join(folder, "root")
    installed = install(build, os.path.join(folder, "installed"))
    for part in ("bin", "lib"):
        shutil.copytree(os.path.join(installed, part), os.path.join(root, "usr", part), symlinks=True)
    os.mkdir(os.path.join(root, "DEBIAN"))
    with open(os.path.join(root, "DEBIAN", "control"), "w", encoding="ascii") as f:
        f.write("Package: rxe-dm\nVersion: 0.1.0\nArchitecture: all\nDepends: libdeflate0, libjansson4\nMaintainer: a test <a@test>\n"
                "Description: rxe_dm\n")
    run(["dpkg-deb", "--build", "-Znone", "--root-owner-group", root, os.path.join(folder, "rxe-dm_0.1.0_all.deb")])


def from_package(build):
    need_packages("python3-yaml", "ibverbs-utils", "libdeflate0", "libjansson4")
    with Machine(build, installed=False) as machine:
        job = Job(machine)
        make_package(build, job.workspace)
        job.steps([{"uses": ACTION, "with": {"package": "rxe-dm_0.1.0_all.deb"}}, {"run": "ibv_devices; command -v rxe_dm"}])
        good(job)
        if not re.search(r"rxe_dm0.*\n/usr/bin/rxe_dm", job.said[-1]):
            raise Failure(f"the next step says '{job.said[-1]}'")
        if subprocess.run(["dpkg-query", "-W", "rxe-dm"], capture_output=True, check=False).returncode == 0:
            raise Failure("the package is on this machine")


CASES = {f"action_{f.__name__}": f for f in (job_c, job_checked, job_explored, job_mpi, job_python, failed, from_source, from_package)}
