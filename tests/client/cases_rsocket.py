# SPDX-License-Identifier: MIT
"""rsockets: programs of ours against the calls, and Debian's own programs (rdmacm-utils)."""

import functools
import hashlib
import os
import re
import subprocess
import sys
import tempfile

from cases_faults import add, fired
from cases_loss import FAULTS
from cases_rdmacm import join, need_library
from instance import Instance, free_port
from program import Failure, patient

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXAMPLE = "TCP programs over RDMA"

RIOSTREAM = {
    "blocking": "-T b -I 20 -C 5 -S 65536",
    "async": "-T a -I 20 -C 5 -S 20000",
    "nonblocking": "-T n -I 20 -C 1 -S 100",
    "verify": "-T v -I 20 -C 1 -S 200000",
}
RSTREAM = {
    "blocking": "-T b -I 200 -C 1 -S all",
    "async": "-T a -I 200 -C 1 -S all",
    "nonblocking": "-T n -I 200 -C 1 -S all",
    "verify": "-T v -I 50 -C 4 -S 65536",
    "bandwidth": "-I 4 -C 100 -S 100000 -B 20000",
}


def ours(build, name, **settings):
    with Instance(build, "rsocket_" + name, **settings) as instance:
        need_library(instance)
        instance.run([os.path.join(build, "tests", "client", "rsocket_" + name)], timeout_s=120)


def through(build, fault):
    """The same through a bad network. Its rule has fired."""
    with Instance(build, "rsocket_" + fault, linger=0) as instance:
        need_library(instance)
        instance.command("start")
        add(instance, FAULTS[fault])
        instance.run([os.path.join(build, "tests", "client", "rsocket_transfer")], timeout_s=120)
        if not all(fired(instance)):
            raise Failure(f"{fault}: the rule has not fired")


def stream(build, program, name, args, **settings):
    """Server and client with the same options, since both count the transfers."""
    with Instance(build, f"{program}_{name}", **settings) as instance:
        need_library(instance)
        port = str(free_port())
        common = [program, "-p", port] + args.split()
        server = instance.start(common + ["-b", instance.address], title=f"{program} (server)")
        client = join(instance, server, common + ["-s", instance.address])
        if server.wait(60) != 0:
            raise Failure(f"{server.title}: exit {server.process.returncode}")
        if not re.search(r"^\S+ +\S+ +\S+ +\S+ +\S+ +[\d.]+s", client.text(), re.MULTILINE):
            raise Failure(f"{program}: no row of results")


def rcopy(build):
    """A file by rcopy, which ends when all of it is there."""
    with Instance(build, "rcopy") as instance, tempfile.TemporaryDirectory() as folder:
        need_library(instance)
        port = str(free_port())
        source, target = (os.path.join(folder, name) for name in ("source", "target"))
        with open(source, "wb") as f:
            f.write(os.urandom(3_000_001))
        server = instance.start(["rcopy", "-p", port])
        join(instance, server, ["rcopy", source, f"{instance.address}:{target}", "-p", port])
        digests = {hashlib.sha256(open(path, "rb").read()).digest() for path in (source, target)}
        if len(digests) != 1:
            raise Failure("rcopy: the copy differs")


def preload(build):
    """The calls of a TCP program, and the bytes are the device's."""
    with Instance(build, "preload", options=["--rsockets"]) as instance:
        need_library(instance)
        instance.command("start")
        instance.run([sys.executable, "-B", os.path.join(os.path.dirname(__file__), "preload_calls.py"), instance.address])
        sent = instance.show()["devices"][0]["counters"]["sent_bytes"]
        if sent < 2_000_000:
            raise Failure(f"the device has sent {sent} bytes only")


def http(build):
    """Python's HTTP server and curl, with a file of some size."""
    with Instance(build, "preload_http", options=["--rsockets"]) as instance, tempfile.TemporaryDirectory() as folder:
        need_library(instance)
        port = str(free_port())
        with open(os.path.join(folder, "file"), "wb") as f:
            f.write(os.urandom(2_000_000))
        server = instance.start([sys.executable, "-u", "-m", "http.server", port, "--bind", instance.address, "--directory", folder])
        server.wait_for_line("Serving HTTP")
        url = f"http://{instance.address}:{port}/file"
        for name in ("one", "two"):
            instance.run(["curl", "-sS", "-o", os.path.join(folder, name), url])
        contents = {open(os.path.join(folder, name), "rb").read() for name in ("file", "one", "two")}
        if len(contents) != 1:
            raise Failure("curl got another file")
        # The kernel's TCP has nobody there.
        if subprocess.run(["curl", "-sS", url], capture_output=True, check=False).returncode == 0:
            raise Failure("the server answers over TCP")


def preload_fork(build):
    """A server that forks for each connection. Both sides say RDMAV_FORK_SAFE."""
    with Instance(build, "preload_fork", options=["--rsockets"]) as instance:
        need_library(instance)
        instance.command("start")
        port = str(free_port())
        safe = {"RDMAV_FORK_SAFE": "1"}
        common = [sys.executable, "-B", os.path.join(os.path.dirname(__file__), "preload_fork.py")]
        server = instance.start(common + ["serve", instance.address, port], env=safe, title="preload_fork (server)")
        server.wait_for_line("listening")
        for _ in range(2):
            instance.run(common + ["ask", instance.address, port], env=safe)
        sent = instance.show()["devices"][0]["counters"]["sent_bytes"]
        if sent < 3_000_000:
            raise Failure(f"the device has sent {sent} bytes only")


def example(build):
    """The commands of docs/EXAMPLES.md as they stand; the address and the port are the test's."""
    with open(os.path.join(ROOT, "docs", "EXAMPLES.md"), encoding="utf-8") as f:
        lines = f.read().split(f"## {EXAMPLE}\n")[1].split("\n## ")[0].split("\n")
    with Instance(build, "example_rsockets") as instance:
        need_library(instance)
        port = str(free_port())
        shell = [line.strip()[2:].replace("127.0.0.1", instance.address).replace("8000", port)
                 for line in lines if line.startswith("    $ ")]
        expected = "".join(line.strip() + "\n" for line in lines if line.startswith("    ") and not line.startswith("    $ "))
        env = dict(instance.env, PATH=os.path.dirname(instance.command_path) + ":" + os.environ["PATH"])
        said = subprocess.run(["bash", "-c", "\n".join(shell + ["kill %1"])], cwd=ROOT, env=env, stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, timeout=patient(30), check=False).stdout
        if said != expected:
            raise Failure(f"the commands said '{said}'")


CASES = {f"rsocket_{name}": functools.partial(ours, name=name) for name in ("stream", "transfer", "iomap")}
for _program, _rows in (("rstream", RSTREAM), ("riostream", RIOSTREAM)):
    CASES.update({f"rsocket_{_program}_{name}": functools.partial(stream, program=_program, name=name, args=args)
                  for name, args in _rows.items()})
CASES.update({f"rsocket_through_{fault}": functools.partial(through, fault=fault) for fault in ("loss_1", "loss_5", "reorder_1")})
CASES["rsocket_rstream_ipv6"] = functools.partial(stream, program="rstream", name="ipv6", address="::1",
                                                 args="-f ipv6 -I 200 -C 1 -S 1000")
CASES["rsocket_rcopy"] = rcopy
CASES["rsocket_preload"] = preload
CASES["rsocket_preload_http"] = http
CASES["rsocket_preload_fork"] = preload_fork
CASES["example_rsockets"] = example
