# SPDX-License-Identifier: MIT
"""rsockets: programs of ours against the calls, and Debian's own programs (rdmacm-utils)."""

import functools
import hashlib
import json
import os
import re
import select
import subprocess
import sys
import tempfile

from cases_faults import add, fired
from cases_loss import FAULTS
from cases_rdmacm import join, listens, need_library
from instance import Instance, free_port, need_program
from namespaces import Pair
from program import Failure, patient

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXAMPLE = "TCP programs over RDMA"
IPERF3_BYTES = 10_000_000
TRIES = 5  # of a program that is racy

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
UDPONG = {
    "echo": "-T e -C 300 -S 64",
    "blocking": "-T b -T e -C 300 -S 1500",
    "async": "-T a -T e -C 300 -S 2000",
    "bandwidth": "-T n -B 100000 -C 5000 -S 1024",
}


def ours(build, name, **settings):
    with Instance(build, "rsocket_" + name, **settings) as instance:
        need_library(instance)
        instance.run([os.path.join(build, "tests", "client", "rsocket_" + name)], timeout_s=120,
                     env={"RXE_TEST_COMMAND": instance.command_path})


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
    for _ in range(TRIES):
        if one_stream(build, program, name, args, settings) == 0:
            return
    raise Failure(f"{program}: POLLHUP came beside the last bytes {TRIES} times")


def one_stream(build, program, name, args, settings):
    """0, or POLLHUP: rstream -T a takes that for a failure when it comes beside the last bytes (do_poll() of rdma-core's
    librdmacm/examples/rstream.c returns revents & (POLLERR | POLLHUP)), as over any device whose peer closes at once."""
    with Instance(build, f"{program}_{name}", **settings) as instance:
        need_library(instance)
        port = str(free_port())
        common = [program, "-p", port] + args.split()
        server = instance.start(common + ["-b", instance.address], title=f"{program} (server)")
        server.wait_until(lambda: listens(instance), "listener", 60)
        client = instance.start(common + ["-s", instance.address], title=f"{program} (client)")
        status = client.wait(60)
        if server.wait(60) != 0:
            raise Failure(f"{server.title}: exit {server.process.returncode}")
        if status == select.POLLHUP and program == "rstream" and "-T a" in args:
            return status
        if status != 0:
            raise Failure(f"{client.title}: exit {status}")
        if not re.search(r"^\S+ +\S+ +\S+ +\S+ +\S+ +[\d.]+s", client.text(), re.MULTILINE):
            raise Failure(f"{program}: no row of results")
    return 0


def refused(build):
    """rstream to a port without listener says so, by rconnect or by rpoll."""
    with Instance(build, "rstream_refused") as instance:
        need_library(instance)
        for kind in "ban":
            client = instance.start(["rstream", "-s", instance.address, "-p", str(free_port()), "-T", kind])
            if client.wait(30) == 0 or "Connection refused" not in client.text():
                raise Failure(f"rstream -T {kind}: exit {client.process.returncode}")


def need_bytes(instance, least):
    sent = instance.show()["devices"][0]["counters"]["sent_bytes"]
    if sent < least:
        raise Failure(f"the device has sent {sent} bytes only")


def run_udpong(here, there, args):
    """The server never ends by itself. What the client sends and hears goes over the device."""
    port = str(free_port())
    server = here.start(["udpong", "-b", here.address, "-p", port] + args.split(), title="udpong (server)")
    server.wait_bound(int(port))
    client = there.start(["udpong", "-s", here.address, "-p", port] + args.split(), title="udpong (client)")
    if client.wait(60) != 0:
        raise Failure(f"{client.title}: exit {client.process.returncode}")
    if not re.search(r"^custom +\S+ +\S+ +\S+ +[\d.]+s", client.text(), re.MULTILINE):
        raise Failure("udpong: no row of results")
    count, size = (int(re.search(f"-{letter} (\\d+)", args).group(1)) for letter in "CS")
    need_bytes(there, count * size)


def udpong(build, name, args, **settings):
    with Instance(build, f"udpong_{name}", **settings) as instance:
        need_library(instance)
        run_udpong(instance, instance, args)


def udpong_veth(build, family):
    """In two namespaces. An MTU of 1500 leaves room for messages of 1000 bytes."""
    with Pair() as pair:
        addresses = [pair.address6(side) if family == "ipv6" else pair.address(side) for side in range(2)]
        with Instance(build, "udpong", addresses[0], prefix=pair.prefix(0)) as here, \
                Instance(build, "udpong", addresses[1], prefix=pair.prefix(1)) as there:
            need_library(here)
            run_udpong(here, there, "-T e -C 200 -S 960")


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
        need_bytes(instance, 2_000_000)


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


def iperf3(build):
    """TCP tests of iperf3, which waits by select: one way, the other, four connections, both ways."""
    need_program("iperf3")
    with Instance(build, "iperf3", options=["--rsockets"]) as instance:
        need_library(instance)
        port = str(free_port())
        server = instance.start(["iperf3", "-s", "-B", instance.address, "-p", port], title="iperf3 (server)")
        server.wait_until(lambda: listens(instance), "listener")
        for way in ([], ["-R"], ["-P", "4"], ["--bidir"]):
            client = instance.start(["iperf3", "-c", instance.address, "-p", port, "-J", "-n", str(IPERF3_BYTES)] + way)
            if client.wait(60) != 0:
                raise Failure(f"iperf3 {way}: exit {client.process.returncode}")
            end = json.loads(client.text())["end"]
            # A test both ways ends with the faster one; the other has moved what its share of the processors allowed.
            ways = [end[name]["bytes"] for name in ("sum_received", "sum_received_bidir_reverse") if name in end]
            if max(ways) < IPERF3_BYTES // 2 or min(ways) == 0 or end["receiver_tcp_congestion"] != "rdma":
                raise Failure(f"iperf3 {way}: {ways} bytes by {end['receiver_tcp_congestion']}")
        need_bytes(instance, 4 * IPERF3_BYTES)


def redis(build):
    """A server and a client that wait by epoll."""
    for program in ("redis-server", "redis-cli", "redis-benchmark"):
        need_program(program)
    with Instance(build, "redis", options=["--rsockets"]) as instance:
        need_library(instance)
        port = str(free_port())
        at = ["-h", instance.address, "-p", port]
        server = instance.start(["redis-server", "--bind", instance.address, "--port", port, "--protected-mode", "no",
                                 "--save", "", "--appendonly", "no"])
        server.wait_for_line("Ready to accept connections")
        instance.run(["redis-cli"] + at + ["set", "key", "a value"])
        if "a value" not in instance.run(["redis-cli"] + at + ["get", "key"]):
            raise Failure("redis-cli: the value is another one")
        instance.run(["redis-benchmark"] + at + ["-n", "1000", "-c", "10", "-d", "1000", "-t", "set,get", "-q"])
        need_bytes(instance, 2_000_000)
        instance.run(["redis-cli"] + at + ["shutdown", "nosave"])
        if server.wait(60) != 0:
            raise Failure(f"redis-server: exit {server.process.returncode}")


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
        need_bytes(instance, 3_000_000)


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


CASES = {f"rsocket_{name}": functools.partial(ours, name=name) for name in ("stream", "transfer", "iomap", "datagram", "epoll", "hostile", "life", "refused")}
for _program, _rows in (("rstream", RSTREAM), ("riostream", RIOSTREAM)):
    CASES.update({f"rsocket_{_program}_{name}": functools.partial(stream, program=_program, name=name, args=args)
                  for name, args in _rows.items()})
CASES.update({f"rsocket_through_{fault}": functools.partial(through, fault=fault) for fault in ("loss_1", "loss_5", "reorder_1")})
CASES["rsocket_rstream_ipv6"] = functools.partial(stream, program="rstream", name="ipv6", address="::1",
                                                 args="-f ipv6 -I 200 -C 1 -S 1000")
CASES.update({f"rsocket_udpong_{name}": functools.partial(udpong, name=name, args=args) for name, args in UDPONG.items()})
CASES["rsocket_udpong_ipv6"] = functools.partial(udpong, name="ipv6", address="::1", args="-T e -C 300 -S 1000")
CASES.update({f"rsocket_udpong_veth_{family}": functools.partial(udpong_veth, family=family) for family in ("ipv4", "ipv6")})
CASES["rsocket_datagram_ipv6"] = functools.partial(ours, name="datagram", address="::1")
CASES["rsocket_rstream_refused"] = refused
CASES["rsocket_rcopy"] = rcopy
CASES["rsocket_preload"] = preload
CASES["rsocket_preload_http"] = http
CASES["rsocket_preload_fork"] = preload_fork
CASES["rsocket_preload_iperf3"] = iperf3
CASES["rsocket_preload_redis"] = redis
CASES["example_rsockets"] = example
