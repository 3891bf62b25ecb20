# SPDX-License-Identifier: MIT
"""rsockets: programs of ours against the calls, and Debian's own programs (rdmacm-utils)."""

import functools
import hashlib
import os
import re
import tempfile

from cases_faults import add, fired
from cases_loss import FAULTS
from cases_rdmacm import join, need_library
from instance import Instance, free_port
from program import Failure

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


def rstream(build, name, args):
    """Server and client with the same options, since both count the transfers."""
    with Instance(build, "rstream_" + name) as instance:
        need_library(instance)
        port = str(free_port())
        common = ["rstream", "-p", port] + args.split()
        server = instance.start(common + ["-b", instance.address], title="rstream (server)")
        client = join(instance, server, common + ["-s", instance.address])
        if server.wait(60) != 0:
            raise Failure(f"{server.title}: exit {server.process.returncode}")
        if not re.search(r"^\S+ +\S+ +\S+ +\S+ +\S+ +[\d.]+s", client.text(), re.MULTILINE):
            raise Failure("rstream: no row of results")


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


CASES = {f"rsocket_{name}": functools.partial(ours, name=name) for name in ("stream", "transfer")}
CASES.update({f"rsocket_rstream_{name}": functools.partial(rstream, name=name, args=args) for name, args in RSTREAM.items()})
CASES.update({f"rsocket_through_{fault}": functools.partial(through, fault=fault) for fault in ("loss_1", "loss_5", "reorder_1")})
CASES["rsocket_rcopy"] = rcopy
