# SPDX-License-Identifier: MIT
"""Labs: the files of examples/labs, each with programs on its hosts, and what must not be left after one."""

import contextlib
import functools
import json
import os
import re
import signal
import struct
import subprocess
import tempfile

from instance import clean_environment, free_port, need_program
from program import Failure, Program, Skip, patient, until

LABS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "labs")
# The first rank prints for all: mpirun mixes what ranks print at the same time.
SUM = """from mpi4py import MPI
c = MPI.COMM_WORLD
sums = c.gather(f"sum {c.allreduce(c.rank)} on {MPI.Get_processor_name()}")
if c.rank == 0:
    print("\\n".join(sums))
"""

SUM_C = r"""#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char name[MPI_MAX_PROCESSOR_NAME];
	int rank, sum, len;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Get_processor_name(name, &len);
	printf("sum %d on %s\n", sum, name);
	return MPI_Finalize();
}
"""

class Lab:
    """with Lab(build, 'star') as lab: the lab of that file, under a folder of labs of its own. user: who runs the command."""

    def __init__(self, build, file, mode="namespaces", user=None, env=None):
        self.command_path = os.path.join(build, "rxe_dm", "rxe_dm")
        self.file, self.mode, self.user = os.path.join(LABS, file + ".yaml"), mode, user
        self.programs = []
        self.env = dict(clean_environment(), **(env or {}))

    def __enter__(self):
        need_program("ip")
        if os.geteuid() != 0 and self.mode == "namespaces":
            raise Skip("network namespaces without root: this machine may refuse them")
        self.folder = tempfile.TemporaryDirectory(prefix="rxe_dm-test-lab-")
        if self.user:
            os.chown(self.folder.name, self.user, self.user)
        self.env["XDG_RUNTIME_DIR"] = self.folder.name
        said = self.lab("up", "--mode", self.mode, self.file)
        if "install the package python3-yaml" in said.stderr:
            raise Skip("python3-yaml is not installed")
        if said.returncode != 0:
            raise Failure(f"rxe_dm lab up: {said.stderr}")
        self.said = said.stdout
        return self

    def __exit__(self, kind, *_):
        for program in self.programs:
            if kind is not None:
                print(program.describe())
            program.end()
            program.log.close()
        # Down twice is an error, and this may follow a test's own.
        self.lab("down")
        self.folder.cleanup()
        return False

    def words(self, *args):
        who = ["setpriv", "--reuid", str(self.user), "--regid", str(self.user), "--clear-groups"] if self.user else []
        return who + [self.command_path, "lab", *args]

    def lab(self, *args):
        return subprocess.run(self.words(*args), env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=patient(60), check=False)

    def need(self, *args):
        done = self.lab(*args)
        if done.returncode != 0:
            raise Failure(f"rxe_dm lab {' '.join(args)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self, node, *args):
        need_program(args[0])
        program = Program(f"{args[0]} on {node}", self.words("exec", node, *args), self.env)
        self.programs.append(program)
        return program

    def finish(self, program, timeout_s=60):
        status = program.wait(timeout_s)
        if status != 0:
            raise Failure(f"{program.title}: exit {status}")
        return program.text()

    def address(self, node, device=0):
        shown = json.loads(self.need("show", "--json"))
        return shown["nodes"][node]["devices"][device]["gids"][0]["gid"].replace("::ffff:", "")

    def listens(self, node, port):
        """A TCP listener on the node; LISTEN is state 0A."""
        text = self.lab("exec", node, "cat", "/proc/net/tcp").stdout
        return re.search(rf":{port:04X} \S+ 0A ", text)

    def pingpong(self, server, client, *options):
        """ibv_rc_pingpong between two hosts, by the server's address."""
        port = free_port()  # nodes without namespaces share the host's
        args = ["ibv_rc_pingpong", "-g", "0", "-p", str(port), *options]
        serving = self.start(server, *args)
        serving.wait_until(lambda: self.listens(server, port), f"a listener on {server}")
        text = self.finish(self.start(client, *args, self.address(server)))
        self.finish(serving)
        return text

    def device(self, node, device=0):
        return json.loads(self.need("show", "--json"))["nodes"][node]["devices"][device]


def two_hosts(build):
    """The page's first example, and a capture of both ends."""
    with Lab(build, "two_hosts") as lab:
        name = os.path.join(lab.folder.name, "both.pcapng")
        capture = Program("capture", lab.words("capture", name), lab.env)
        lab.programs.append(capture)
        capture.wait_for_line("capturing 2 devices")
        lab.pingpong("a", "b", "-n", "100")
        capture.kill(signal.SIGTERM)
        lab.finish(capture)
        interfaces, packets = read_capture(name)
        if interfaces != ["a:rxe_dm0 eth1", "b:rxe_dm0 eth1"]:
            raise Failure(f"the capture's interfaces are {interfaces}")
        if set(number for number, _ in packets) != {0, 1} or packets != sorted(packets, key=lambda p: p[1]):
            raise Failure(f"{len(packets)} packets, not of both interfaces in the order of time")
        if lab.need("exec", "a", "hostname").strip() != "a":
            raise Failure("host a has another name")
        if lab.lab("exec", "a", "sh", "-c", "exit 7").returncode != 7:
            raise Failure("exec does not return the program's exit status")
        again = lab.lab("up", lab.file)
        if again.returncode != 1 or "is up already" not in again.stderr:
            raise Failure(f"a second lab of the name: {again.returncode} {again.stderr}")


def read_capture(name):
    """Names of interfaces, and (interface, time) of each packet."""
    with open(name, "rb") as f:
        data = f.read()
    interfaces, packets, at = [], [], 0
    while at < len(data):
        kind, length = struct.unpack_from("=II", data, at)
        body = data[at + 8:at + length - 4]
        if kind == 1:
            interfaces.append(re.search(rb"\x02\x00..([a-z]+:rxe_dm[0-9]+ [a-z0-9]+)", body, re.S)[1].decode())
        elif kind == 6:
            number, high, low = struct.unpack_from("=III", body)
            packets.append((number, high << 32 | low))
        at += length
    return interfaces, packets


def star(build):
    """Eight hosts at a switch: an allreduce over UCX, one rank a host."""
    need_program("mpirun")
    with Lab(build, "star") as lab:
        lab.env.update(UCX_TLS="rc", UCX_NET_DEVICES="rxe_dm0:1", OMPI_MCA_orte_tmpdir_base=lab.folder.name)
        done = lab.lab("exec", "--mpi", "mpirun", "-np", "8", "--map-by", "node", "--mca", "pml", "ucx", "/usr/bin/python3", "-c", SUM)
        if "No module named" in done.stderr:
            raise Skip("python3-mpi4py is not installed")
        hosts = set(re.findall(r"sum 28 on (h\d)", done.stdout))
        if done.returncode != 0 or hosts != {f"h{i}" for i in range(1, 9)}:
            raise Failure(f"mpirun: {done.returncode}\n{done.stdout}{done.stderr}")
        for node in ("h1", "h8"):
            if lab.device(node)["counters"]["sent_pkts"] == 0:
                raise Failure(f"{node} sent nothing by its device")


def mpich(build):
    """Two ranks on each of two hosts, which Hydra starts by options of ssh."""
    need_program("mpiexec.hydra")
    need_program("mpicc.mpich")
    with Lab(build, "two_hosts") as lab:
        source, program = (os.path.join(lab.folder.name, name) for name in ("sum.c", "sum"))
        with open(source, "w", encoding="ascii") as f:
            f.write(SUM_C)
        subprocess.run(["mpicc.mpich", source, "-o", program], check=True)
        lab.env.update(UCX_TLS="rc", UCX_NET_DEVICES="rxe_dm0:1")
        job = Program("mpiexec.hydra", lab.words("exec", "--mpi", f"mpiexec.hydra -n 4 -ppn 2 {program}"), lab.env)
        lab.programs.append(job)
        text = lab.finish(job)
        if sorted(re.findall(r"sum 6 on (\w+)", text)) != ["a", "a", "b", "b"]:
            raise Failure(f"mpiexec.hydra: {text}")
        for node in ("a", "b"):
            if lab.device(node)["counters"]["sent_pkts"] == 0:
                raise Failure(f"{node} sent nothing by its device")


def slow(build, mode):
    """Delay and loss are there: the fault rules or netem act, and everything arrives."""
    with Lab(build, "slow", mode) as lab:
        text = lab.pingpong("near", "far", "-n", "50")
        usec = float(re.search(r"([0-9.]+) usec/iter", text)[1])
        if usec < 10000:
            raise Failure(f"a round trip of {usec} us: the link delays 5 ms each way")
        if mode == "loopback" and "note: hosts are loopback addresses" not in lab.said:
            raise Failure(f"up does not say what is missing: {lab.said}")


ALL_KEYS = """name: shaped
topology:
  nodes: {a: {}, b: {}, s: {kind: bridge}}
  links:
    - {endpoints: ["a:eth1", "b:eth1"], delay: 5ms, loss: 1%, rate: 50mbit, limit: 200}
    - {endpoints: ["a:eth2", "s:port1"], delay: 250us}
    - {endpoints: ["b:eth2", "s:port2"], rate: 1gbit}
    - {endpoints: ["a:eth3", "b:eth3"], limit: 50}
"""
# What leaves at each end of the links; an end at a switch has the name of the link.
NETEM = ["dev eth1 root netem limit 200 delay 5000us loss 1.000000% rate 50000000bit"] * 2 + [
    "dev eth2 root netem delay 250us", "dev link1.1 root netem delay 250us",
    "dev eth2 root netem rate 1000000000bit", "dev link2.1 root netem rate 1000000000bit"] + ["dev eth3 root netem limit 50"] * 2
# Queues have a length in bytes here: packets of 1514, and the burst.
NO_NETEM = ["dev eth1 root tbf rate 50000000bit burst 25000 limit 327800"] * 2 + [
    "dev eth2 root tbf rate 1000000000bit burst 500000 limit 2014000",
    "dev link2.1 root tbf rate 1000000000bit burst 500000 limit 2014000"] + ["dev eth3 root pfifo limit 50"] * 2
RULES = {"a": ["drop dir=out probability=0.01 seed=1", "delay time=5ms dir=out", "delay time=250us"],
         "b": ["drop dir=out probability=0.01 seed=2", "delay time=5ms dir=out"]}
# Stands for tc(8): a kernel that has netem, or one that has not. What it is called with is in the file beside it.
FAKE_TC = """#!/bin/sh
case "$*" in
*netem*) if [ -e "${0%/*}/no_netem" ]; then echo 'Error: Specified qdisc kind is unknown.' >&2; exit 2; fi ;;
esac
case "$*" in *probe0*) ;; *) echo "$*" >>"${0%/*}/calls" ;; esac
"""


def need_syntax(calls):
    """The real tc takes the words, whatever this kernel then says."""
    for call in calls:
        words = call.split()
        words[words.index("dev") + 1] = "lo"
        done = subprocess.run(["unshare", "--net", "tc", *words], capture_output=True, text=True, check=False)
        if done.returncode == 1 or "Illegal" in done.stderr or "What is" in done.stderr:
            raise Failure(f"tc {call}: {done.returncode} {done.stderr}")


def shaped(build, has_netem):
    """Each property of a link becomes words of tc(8), or fault rules with a sentence about it."""
    need_program("tc")
    with tempfile.TemporaryDirectory(prefix="rxe_dm-test-tc-") as folder:
        for name, text in {"tc": FAKE_TC, "shaped.yaml": ALL_KEYS, **({} if has_netem else {"no_netem": ""})}.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                f.write(text)
        os.chmod(os.path.join(folder, "tc"), 0o755)
        with Lab(build, os.path.join(folder, "shaped"), env={"PATH": f"{folder}:{os.environ['PATH']}"}) as lab:
            with open(os.path.join(folder, "calls"), encoding="ascii") as f:
                calls = f.read().splitlines()
            if sorted(calls) != sorted(f"qdisc add {words}" for words in (NETEM if has_netem else NO_NETEM)):
                raise Failure("tc was called with\n" + "\n".join(calls))
            need_syntax(set(calls))
            if ("note: this kernel has no netem (module sch_netem): delay and loss are fault rules" in lab.said) == has_netem:
                raise Failure(f"lab up says {lab.said}")
            for node, rules in RULES.items():
                found = [rule["rule"] for device in json.loads(lab.need("show", "--json"))["nodes"][node]["devices"] for rule in device["faults"]]
                if found != ([] if has_netem else rules):
                    raise Failure(f"the rules of {node} are {found}")


def partition(build, mode):
    """A queue pair whose network is cut and heals goes on; across the cut nobody hears, within a part all goes on."""
    with Lab(build, "partition", mode) as lab:
        # Without namespaces no rule stands for a link between switches.
        link = ("left", "right") if mode == "namespaces" else ("c", "right")
        lab.pingpong("a", "c", "-n", "10")
        lab.need("link", *link, "down")
        cut = lab.start("a", "ibv_rc_pingpong", "-g", "0", "-p", "18517", "-n", "10")
        cut.wait_until(lambda: lab.listens("a", 18517), "a listener on a")
        lab.pingpong("a", "b", "-n", "10")
        if lab.lab("link", *link, "down").returncode == 0:
            raise Failure("a link was cut twice")
        client = lab.start("c", "ibv_rc_pingpong", "-g", "0", "-p", "18517", "-n", "10", lab.address("a"))
        lab.need("link", *link, "up")
        lab.finish(client)
        lab.finish(cut)


def rails(build):
    """Two devices a host: each rail carries its own traffic."""
    with Lab(build, "rails") as lab:
        before = [lab.device("b", rail)["counters"]["rcvd_pkts"] for rail in range(2)]
        lab.pingpong("a", "b", "-n", "20", "-d", "rxe_dm1")
        after = [lab.device("b", rail)["counters"]["rcvd_pkts"] for rail in range(2)]
        if after[0] != before[0] or after[1] < before[1] + 20:
            raise Failure(f"packets received by rail: {before}, then {after}")


def killed(build):
    """The keeper is killed: programs end at once, down removes the rest, and the next up works."""
    with Lab(build, "two_hosts") as lab:
        sleeper = lab.start("a", "sleep", "600")
        path = os.path.join(lab.folder.name, f"rxe_dm-labs-{os.getuid()}", "two_hosts", "lab.json")
        with open(path, encoding="utf-8") as f:
            keeper = json.load(f)["keeper"]
        os.kill(keeper, signal.SIGKILL)
        sleeper.wait(30)
        shown = lab.lab("show")
        if shown.returncode != 1 or "have been killed" not in shown.stderr:
            raise Failure(f"show after a kill: {shown.returncode} {shown.stdout}{shown.stderr}")
        lab.need("down")
        if os.listdir(os.path.dirname(os.path.dirname(path))):
            raise Failure("down left files")
        lab.need("up", lab.file)
        lab.pingpong("a", "b", "-n", "10")


def killed_loopback(build):
    """The device server of a host is killed: down leaves nothing of it."""
    with Lab(build, "two_hosts", "loopback") as lab:
        server = json.loads(lab.need("show", "--json"))["nodes"]["a"]["pid"]
        address = lab.address("a")
        os.kill(server, signal.SIGKILL)
        lab.need("down")
        left = os.listdir(os.path.join(lab.folder.name, f"rxe_dm-labs-{os.getuid()}"))
        left += [name for name in os.listdir("/dev/shm") if address in name]
        if left:
            raise Failure(f"down left {left}")


def up_twice(build):
    """A lab that is being made is up for a second 'up' of its name, and for 'down'."""
    with Lab(build, "two_hosts") as lab:
        lab.need("down")
        first = Program("lab up", lab.words("up", lab.file), lab.env)
        lab.programs.append(first)
        saved = os.path.join(lab.folder.name, f"rxe_dm-labs-{os.getuid()}", "two_hosts", "lab.json")
        first.wait_until(lambda: os.path.exists(saved), "a file of the lab")
        second = lab.lab("up", lab.file)
        if second.returncode != 1 or "lab two_hosts is up already" not in second.stderr:
            raise Failure(f"a second lab of the name: {second.returncode} {second.stderr}")
        lab.finish(first)
        shown = subprocess.run([lab.command_path, "show", "--lab"], env=lab.env, capture_output=True, text=True, check=False)
        if shown.returncode != 0 or not re.search(r"^lab two_hosts: 2 hosts.*^== a$.*^rxe_dm0: port ACTIVE.*^== b$", shown.stdout, re.M | re.S):
            raise Failure(f"rxe_dm show --lab: {shown.returncode} {shown.stdout}{shown.stderr}")
        lab.pingpong("a", "b", "-n", "10")


def keepers(saved):
    """Processes that make or keep the lab with this file."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as f:
            if {saved.encode(), b"-B"} < set(f.read().split(b"\0")):
                yield int(name)


def up_killed(build):
    """'up' is killed while it makes the lab: no process is left, and the next one works."""
    with Lab(build, "two_hosts") as lab:
        lab.need("down")
        saved = os.path.join(lab.folder.name, f"rxe_dm-labs-{os.getuid()}", "two_hosts", "lab.json")
        first = Program("lab up", lab.words("up", lab.file), lab.env)
        lab.programs.append(first)
        first.wait_until(lambda: list(keepers(saved)), "a process that makes the lab")
        first.kill(signal.SIGKILL)
        first.wait(30)
        until(lambda: not list(keepers(saved)), "an end of the lab's processes")
        lab.need("up", lab.file)
        lab.pingpong("a", "b", "-n", "10")


def two_labs(build):
    """Two labs of one file's addresses do not meet, and a command must name one."""
    with Lab(build, "two_hosts") as lab:
        other = os.path.join(lab.folder.name, "other.yaml")
        with open(lab.file, encoding="utf-8") as f, open(other, "w", encoding="utf-8") as to:
            to.write(f.read().replace("name: two_hosts", "name: other"))
        lab.need("up", other)
        try:
            if "choose one with --name: other, two_hosts" not in lab.lab("exec", "a", "true").stderr:
                raise Failure("exec chose one of two labs")
            lab.need("exec", "--name", "other", "a", "ibv_devices")
            hosts = lab.need("exec", "--name", "other", "a", "ip", "neighbor")
            if "10.88.1.2" in hosts:
                raise Failure("a lab meets the other's hosts")
        finally:
            lab.need("down", "--name", "other")
        lab.pingpong("a", "b", "-n", "10")


def ordinary_user(build):
    if os.geteuid() != 0:
        raise Skip("needs root, to become another user")
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/unprivileged_userns_clone", encoding="ascii") as f:
            if f.read().strip() == "0":
                raise Skip("kernel.unprivileged_userns_clone is 0")
    with Lab(build, "two_hosts", user=65534) as lab:
        lab.pingpong("a", "b", "-n", "20")
        lab.need("down")
        until(lambda: not os.listdir(os.path.join(lab.folder.name, "rxe_dm-labs-65534")), "the lab's folder to be empty")


def mistakes(build):
    """What is wrong with a file is said in a line."""
    with Lab(build, "two_hosts", "loopback") as lab:
        name = os.path.join(lab.folder.name, "wrong.yaml")
        for text, why in WRONG.items():
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
            done = lab.lab("up", name)
            if done.returncode != 1 or why not in done.stderr or done.stderr.count("\n") != 1:
                raise Failure(f"{text!r}: {done.returncode} {done.stderr}, expected '{why}'")
        if "is no host of lab two_hosts: a, b" not in lab.lab("exec", "z", "true").stderr:
            raise Failure("exec on a host that is not there")


HEAD = "name: x\ntopology:\n  nodes: {a: {}, b: {}}\n"
WRONG = {
    "[": "not YAML",
    "name: X": "name: a small letter",
    "name: x\nnodes: {}": "unknown key 'nodes'",
    "name: x": "the lab has no host",
    HEAD: "host a has no link",
    HEAD + "  links: [{endpoints: [a, c]}]": "link 1 ends at 'c', which is no node",
    HEAD + "  links: [{endpoints: [a]}]": "link 1: endpoints are two nodes",
    HEAD + "  links: [{endpoints: [a, a]}]": "link 1 begins and ends at a",
    HEAD + "  links: [{endpoints: ['a:eth1', 'b:eth1']}, {endpoints: ['a:eth1', 'b:eth2']}]": "a:eth1 is an end of another link",
    HEAD + "  links: [{endpoints: [a, b], delay: 5}]": "link 1: delay '5': write a number and a unit",
    HEAD + "  links: [{endpoints: [a, b], loss: 200%}]": "link 1: loss is at most 100%",
    HEAD + "  links: [{endpoints: [a, b], limit: many}]": "limit 'many' is not a number of packets",
    "name: x\ntopology: {nodes: {a: {kind: router}}}": "kind 'router' is not one of linux, bridge",
}

CASES = {
    "lab_two_hosts": two_hosts,
    "lab_star": star,
    "lab_mpich": mpich,
    "lab_slow": functools.partial(slow, mode="namespaces"),
    "lab_slow_loopback": functools.partial(slow, mode="loopback"),
    "lab_netem": functools.partial(shaped, has_netem=True),
    "lab_no_netem": functools.partial(shaped, has_netem=False),
    "lab_partition": functools.partial(partition, mode="namespaces"),
    "lab_partition_loopback": functools.partial(partition, mode="loopback"),
    "lab_rails": rails,
    "lab_killed": killed,
    "lab_killed_loopback": killed_loopback,
    "lab_up_killed": up_killed,
    "lab_up_twice": up_twice,
    "lab_two_labs": two_labs,
    "lab_ordinary_user": ordinary_user,
    "lab_mistakes": mistakes,
}
