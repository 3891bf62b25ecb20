# SPDX-License-Identifier: MIT
"""The pages of docs/ for users: their commands as they stand, on a machine that is thrown away."""

import contextlib
import functools
import json
import os
import re
import shlex

from cases_action import PROGRAM, make_package
from fenced import blocks, text_of
from machine import Machine, need_packages
from pods import Cluster
from program import Failure
from workflow import load, load_all


def need(text, patterns):
    """Each pattern, behind what the one before it found."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern, re.M).search(text, at)
        if not found:
            raise Failure(f"no '{pattern}' in what is left:\n{text[at:]}")
        at = found.end()


def page(build, name, packages, says):
    """All blocks of the page in one shell."""
    need_packages(*packages.split())
    with Machine(build) as machine:
        status, text = machine.run("".join(blocks(name, "sh")), name, folder=machine.shared, timeout_s=60)
        if status != 0:
            raise Failure(f"{name}: exit {status}:\n{text}")
        need(text, says)


def mpi(build):
    page(build, "MPI.md", "ucx-utils openmpi-bin python3-mpi4py libmpich-dev libgloo-dev g++",
         [r"^Final: +1000", r"\(4 processes, 4096 bytes\)", "(the sum is 6\n){12}", r"sent_pkts +\d{4}"])


def hosts(build):
    ring = r"\(6 processes, 65536 bytes\)"
    page(build, "HOSTS.md", "openmpi-bin python3-mpi4py iproute2 nftables",
         [ring, ring, r"^ +1 +[1-9]\d* +drop", ring, r"192\.0\.2\.1 on eth0, MTU 4096", r"sent_pkts +\d{3}"])


def application(build, title, packages, says):
    """The block below one heading of APPLICATIONS.md, in a shell of its own."""
    need_packages(*packages.split())
    section = text_of("APPLICATIONS.md").split(f"\n## {title}\n")[1].split("\n## ")[0]
    script = re.search(r"^```sh\n(.*?)^```$", section, re.M | re.S)[1]
    with Machine(build) as machine:
        status, text = machine.run(script, title, folder=machine.shared, timeout_s=60)
        if status != 0:
            raise Failure(f"{title}: exit {status}:\n{text}")
        need(text, says)


APPLICATIONS = {
    "qemu": ("QEMU: live migration", "qemu-system-x86",
             ["^Migration status: completed", "^the memory is equal", r"rdma_sends +\d+"]),
    "tgt": ("tgt and libiscsi: iSER", "tgt libiscsi-bin",
            ["^Product:VIRTUAL-DISK", r"tests +1 +1 +1 +0 +0", r"127\.0\.0\.1:3260 -> 127\.0\.0\.1:\d+ .*rxe_dm0"]),
    "ceph": ("Ceph: the messenger async+rdma", "ceph-mon ceph-common", [r"mon: 1 daemons, quorum a", r"rdma_sends +\d+"]),
    "dapl": ("DAPL", "dapl2-utils", [r"(DAPL Test Complete\. PASSED[^$]*){2}"]),
}


def kubernetes(build, number, says):
    """The pods of one block. What stands behind `kubectl exec` runs in the pod's namespaces while the containers are there."""
    need_packages("python3-yaml", "ibverbs-utils", "infiniband-diags", "iproute2")
    with Machine(build) as machine:
        cluster = Cluster(machine)
        cluster.apply(load_all(blocks("KUBERNETES.md", "yaml")[number]))
        for (pod, container), pattern in says.items():
            need(cluster.ended(pod, container), [pattern])
        for pod, container, command in re.findall(r"^    kubectl exec (\S+) -c (\S+) -- (.*)$", text_of("KUBERNETES.md"), re.M):
            if (pod, container) in cluster.containers:
                status, text = cluster.inside(pod, container, command.split())
                if status != 0 or cluster.addresses[pod] not in text and "Port 1" not in text:
                    raise Failure(f"{command}: exit {status}: {text}")


def project(machine):
    """What the jobs find: a program, and the package."""
    make_package(machine.build, machine.shared)
    with open(os.path.join(machine.shared, "your_program.c"), "w", encoding="ascii") as f:
        f.write(PROGRAM)


def gitlab(build):
    """Once well, and once with a program that fails."""
    need_packages("python3-yaml", "gcc", "libibverbs-dev", "libdeflate0", "libjansson4")
    job = next(load(block)["test"] for block in blocks("CI.md", "yaml") if block.startswith("test:"))
    with Machine(build, installed=False) as machine:
        project(machine)
        script = "\n".join(job["script"])
        status, text = machine.run(script, "GitLab's script", folder=machine.shared)
        if status != 0 or "\nrxe_dm0\n" not in text:
            raise Failure(f"exit {status}: {text}")
        with open(os.path.join(machine.shared, "your_program.c"), "a", encoding="ascii") as f:
            f.write("__attribute__((constructor)) static void fail(void) { _Exit(3); }\n")
        # A job's folder is new: the script waits for what capture.txt says.
        for path in (*job["artifacts"]["paths"], "capture.txt"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(machine.shared, path))
        status, text = machine.run(script, "one that fails", folder=machine.shared)
        lacks = [path for path in job["artifacts"]["paths"] if not os.path.isfile(os.path.join(machine.shared, path))]
        if status != 1 or lacks:
            raise Failure(f"exit {status}, and there is no {lacks}: {text}")


def container(build):
    """The image of docs/CI.md, step by step, and its program."""
    need_packages("gcc", "libibverbs-dev", "libdeflate0", "libjansson4")
    with Machine(build, installed=False) as machine:
        project(machine)
        machine.check("cc your_program.c -o your_program -libverbs", folder=machine.shared)
        words = {}
        for line in blocks("CI.md", "dockerfile")[0].splitlines():
            word, rest = line.split(" ", 1)
            if word in ("COPY", "RUN"):
                machine.check(f"cp {rest}" if word == "COPY" else rest, folder=machine.shared)
            else:
                words[word] = rest
        command = json.loads(words["ENTRYPOINT"]) + json.loads(words["CMD"])
        if words["FROM"] != "debian:12" or "rxe_dm0" not in machine.check(shlex.join(command)):
            raise Failure("the container's program does not find the device")


PODS = {"server": r"^1000 iters in", "client": r"^1000 iters in"}
CASES = {"page_kubernetes_pods": functools.partial(kubernetes, number=0, says={(name, "program"): said for name, said in PODS.items()}),
         "page_kubernetes_sidecar": functools.partial(kubernetes, number=1, says={("both", name): said for name, said in PODS.items()})}
CASES |= {f"page_{name}": functools.partial(application, title=title, packages=packages, says=says)
          for name, (title, packages, says) in APPLICATIONS.items()}
CASES |= {f"page_{f.__name__}": f for f in (mpi, hosts, gitlab, container)}
