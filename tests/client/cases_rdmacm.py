# SPDX-License-Identifier: MIT
"""Connections by librdmacm: Debian's own programs in two processes, and programs of ours against the public calls."""

import functools
import os
import re
import signal
import tempfile

from cases_perftest import ROW, TROUBLE
from cases_python import PYTHON, TESTS as RDMA_CORE, judge, need_pyverbs, unpack
from instance import Instance, free_port
from namespaces import Pair
from program import Failure, Skip, until

TESTS = ["connect", "events", "bad", "sync"]


def need_library(instance):
    if not os.path.exists(os.path.join(instance.build, "lib", "rdmacm", "librdmacm.so.1")):
        raise Skip("librdmacm was not built: librdmacm-dev is not installed")


def ours(build, name, **settings):
    with Instance(build, "rdmacm_" + name, **settings) as instance:
        need_library(instance)
        instance.run([os.path.join(build, "tests", "client", "rdmacm_" + name)], timeout_s=120)


def listens(instance):
    return any(one["state"] == "listening" for one in instance.show().get("rdma_ids", []))


def join(instance, server, client, timeout_s=60):
    """A client that succeeds. It starts when its server listens: a program that makes many connections gives up at the first one that
    is rejected."""
    server.wait_until(lambda: listens(instance), "listener", timeout_s)
    program = instance.start(client, title=client[0] + " (client)")
    if program.wait(timeout_s) != 0:
        raise Failure(f"{' '.join(client)}: exit {program.process.returncode}")
    return program


def pair(build, name, server, client, said="", **settings):
    """server, client: lists of words, {address} and {port} in them. Both come to a good end; the client says what it must."""
    with Instance(build, name, **settings) as instance:
        need_library(instance)
        values = {"address": instance.address, "port": free_port()}
        program = instance.start([word.format(**values) for word in server], title=server[0] + " (server)")
        other = join(instance, program, [word.format(**values) for word in client])
        if program.wait(60) != 0:
            raise Failure(f"{program.title}: exit {program.process.returncode}")
        for text in (program.text(), other.text()):
            if TROUBLE.search(text):
                raise Failure(f"{name}: it speaks of '{TROUBLE.search(text).group(0)}'")
        if not re.search(said, other.text()):
            raise Failure(f"{name}: the client did not say '{said}'")


def words(text):
    return text.split()


def persistent(build):
    """One server, three clients in turn, one of which is killed in the middle."""
    with Instance(build, "rping_persistent") as instance:
        need_library(instance)
        port = free_port()
        common = ["rping", "-a", instance.address, "-p", str(port)]
        server = instance.start(common + ["-s", "-P"])
        for _ in range(2):
            join(instance, server, common + ["-c", "-C", "20", "-V"])
        endless = instance.start(common + ["-c"])
        endless.wait_until(lambda: len(instance.show()["devices"][0]["programs"]) > 1, "second program")
        endless.kill()
        join(instance, server, common + ["-c", "-C", "20", "-V"])
        if not server.running():
            raise Failure("the server ended with its client")


def times(build):
    """cmtime: its server serves until it is ended, its client ends well whatever happens, so it must say nothing else."""
    with Instance(build, "cmtime") as instance:
        need_library(instance)
        port = str(free_port())
        server = instance.start(["cmtime", "-b", instance.address, "-p", port])
        until(lambda: "REJECTED" not in instance.run(["cmtime", "-s", instance.address, "-p", port]), "connections of cmtime")
        text = instance.run(["cmtime", "-s", instance.address, "-p", port, "-c", "100"])
        if not re.search(r"^connect +: +[\d.]+", text, re.MULTILINE) or "error" in text:
            raise Failure("cmtime: no time of its connections")


def groups(build):
    """mckey: a receiver and a sender of one group."""
    with Instance(build, "mckey") as instance:
        need_library(instance)
        # Line by line into its file.
        common = ["stdbuf", "-oL", "mckey", "-m", "239.1.2.3", "-b", instance.address]
        receiver = instance.start(common)
        receiver.wait_for_line("joined dgid")
        sender = instance.start(common + ["-s"], title="mckey (sender)")
        for program in (sender, receiver):
            if program.wait(60) != 0:
                raise Failure(f"{program.title}: exit {program.process.returncode}")


def qperf(build):
    """Its connections by the connection manager, which it uses for RC alone. Its server tells its port before it listens at it,
    so a fast client may be rejected, and is started again."""
    with Instance(build, "qperf") as instance:
        need_library(instance)
        port = free_port()
        server = instance.start(["qperf", "-lp", str(port)])
        server.wait_listening(port)
        for name in ("rc_lat", "rc_bw", "rc_rdma_write_bw", "rc_rdma_read_lat"):
            client = ["qperf", instance.address, "-lp", str(port), "-t", "1", "-cm1", name]
            text = instance.run(client, expect=None)
            while "Event rejected" in text:
                text = instance.run(client, expect=None)
            if not re.search(rf"{name}:\n +\w+ += +[\d.]+", text):
                raise Failure(f"qperf: no result of {name}")


def libfabric(build, provider, endpoint):
    """libfabric connects by the addresses of interfaces, and leaves lo out."""
    with Pair() as net, Instance(build, "fi_" + endpoint, net.address(0), net.address(0), net.prefix(0)) as here, \
            Instance(build, "fi_" + endpoint + "_b", net.address(1), net.address(1), net.prefix(1)) as there:
        need_library(here)
        port = free_port()
        args = ["fi_pingpong", "-p", provider, "-e", endpoint, "-d", "rxe_dm0", "-c"]
        server = here.start(args + ["-B", str(port)], title="fi_pingpong (server)")
        server.wait_listening(port)
        client = there.start(args + ["-P", str(port), here.address], title="fi_pingpong (client)")
        for program in (client, server):
            if program.wait(60) != 0:
                raise Failure(f"{program.title}: exit {program.process.returncode}")
            if not re.search(r"^1m +\d+ +=\d+", program.text(), re.MULTILINE):
                raise Failure(f"{program.title}: no line for 1 MiB")


def fio(build):
    """Its engine rdma: the server's side writes nothing to disk, the client's reads nothing from it."""
    with Instance(build, "fio") as instance:
        need_library(instance)
        port = free_port()
        job = ["fio", "--name=job", "--ioengine=rdma", f"--port={port}", "--bs=64k", "--size=8m", "--iodepth=4"]
        server = instance.start(job + ["--rw=read"], title="fio (server)")
        client = join(instance, server, job + [f"--hostname={instance.address}", "--rw=write", "--verb=write"])
        if server.wait(60) != 0 or "err= 0" not in client.text():
            raise Failure("fio did not come to a good end")


def perftest(build, name, args):
    with Instance(build, name) as instance:
        need_library(instance)
        server_args = args + ["-R", "-F", "-p", str(free_port())]
        server = instance.start(server_args, title=args[0] + " (server)")
        client = join(instance, server, server_args + [instance.address])
        if server.wait(60) != 0:
            raise Failure(f"{server.title}: exit {server.process.returncode}")
        if TROUBLE.search(client.text()) or not ROW.search(client.text()):
            raise Failure(f"{' '.join(args)}: no row of results")


def server_killed(build):
    """A program that waits for a request hears that the device server has died."""
    with Instance(build, "cm_server_killed") as instance:
        need_library(instance)
        program = instance.start([os.path.join(build, "examples", "rdma_echo"), "serve", instance.address, "0"])
        program.wait_for_line("listening on port")
        os.kill(instance.server_pid(), signal.SIGKILL)
        program.wait(60)
        if "rdma_get_request" not in program.text():
            raise Failure("the program did not hear of it")


def echo(build):
    """The example, as docs/EXAMPLES.md shows it."""
    with Instance(build, "rdma_echo") as instance:
        program = os.path.join(build, "examples", "rdma_echo")
        if not os.path.exists(program):
            raise Skip("librdmacm-dev is not installed")
        port = str(free_port())
        server = instance.start([program, "serve", instance.address, port])
        server.wait_for_line(f"listening on port {port} of rxe_dm0")
        for _ in range(2):
            text = instance.run([program, "ask", instance.address, port, "hello", "again"])
            if text != "echo: hello\necho: again\n":
                raise Failure(f"rdma_echo said '{text}'")
        server.wait_for_line("(?s)disconnected.*disconnected")


# The tests ask an interface of the device for its address; the device has no interface, so this answers.
TOLD = """
def _device_address(self, dev, port, idx):
    self.args.append([dev, port, idx, os.environ["RXE_DM_ADDRESS"], None])
RDMATestCase._get_ip_mac = _device_address
"""


def rdma_core(build):
    need_pyverbs()
    if not os.path.isdir(RDMA_CORE):
        raise Skip("rdma-core is not installed")
    with tempfile.TemporaryDirectory() as folder, Instance(build, "rdma_core_cm") as instance:
        need_library(instance)
        target = unpack(folder)
        with open(os.path.join(target, "base.py"), "a", encoding="utf-8") as f:
            f.write(TOLD)
        judge(instance.run([PYTHON, "-B", os.path.join(target, "run_tests.py"), "-v", "--dev", "rxe_dm0", "--port", "1", "--gid", "0",
                            "tests.test_rdmacm"], timeout_s=200, expect=None), "test_rdmacm")


PAIRS = {
    "rping": ("rping -s -a {address} -p {port} -C 10 -V", "rping -c -a {address} -p {port} -C 10 -V"),
    "rping_small": ("rping -s -a {address} -p {port} -C 10 -S 23", "rping -c -a {address} -p {port} -C 10 -S 23"),
    "rping_large": ("rping -s -a {address} -p {port} -C 50 -S 65535 -V", "rping -c -a {address} -p {port} -C 50 -S 65535 -V"),
    "rping_any": ("rping -s -p {port} -C 10", "rping -c -a {address} -I {address} -p {port} -C 10"),
    "rping_own_qp": ("rping -s -q -a {address} -p {port} -C 10", "rping -c -q -a {address} -p {port} -C 10"),
    "ucmatose": ("ucmatose -b {address} -p {port}", "ucmatose -s {address} -p {port}"),
    "ucmatose_connections": ("ucmatose -b {address} -p {port} -c 16 -C 5 -S 4000",
                             "ucmatose -s {address} -p {port} -c 16 -C 5 -S 4000"),
    "ucmatose_migrate": ("ucmatose -b {address} -p {port} -m", "ucmatose -s {address} -p {port} -m"),
    "udaddy": ("udaddy -b {address}", "udaddy -s {address}"),
    "udaddy_connections": ("udaddy -b {address} -c 8 -C 5 -S 1000", "udaddy -s {address} -c 8 -C 5 -S 1000"),
    "rdma_server": ("rdma_server -p {port}", "rdma_client -s {address} -p {port}"),
}

PERFTESTS = {
    "send_bw": ["ib_send_bw", "-n", "500"],
    "send_lat": ["ib_send_lat", "-n", "500"],
    "write_bw": ["ib_write_bw", "-n", "500"],
    "write_lat": ["ib_write_lat", "-n", "500"],
    "read_lat": ["ib_read_lat", "-n", "500"],
    "read_bw": ["ib_read_bw", "-n", "500"],
    "atomic_lat": ["ib_atomic_lat", "-n", "500"],
    "send_lat_ud": ["ib_send_lat", "-c", "UD", "-n", "500"],
    "send_bw_ud": ["ib_send_bw", "-c", "UD", "-s", "1024", "-n", "500"],
}

CASES = {f"rdmacm_{name}": functools.partial(ours, name=name) for name in TESTS}
CASES["rdmacm_connect_ipv6"] = functools.partial(ours, name="connect", address="::1")
for _name, (_server, _client) in PAIRS.items():
    CASES[f"rdmacm_{_name}"] = functools.partial(pair, name=_name, server=words(_server), client=words(_client))
CASES["rdmacm_rping_ipv6"] = functools.partial(pair, name="rping6", address="::1", server=words(PAIRS["rping"][0]),
                                               client=words(PAIRS["rping"][1]))
CASES.update({f"rdmacm_perftest_{name}": functools.partial(perftest, name=name, args=args) for name, args in PERFTESTS.items()})
CASES.update({
    "rdmacm_rping_persistent": persistent,
    "rdmacm_cmtime": times,
    "rdmacm_mckey": groups,
    "rdmacm_qperf": qperf,
    "rdmacm_fio": fio,
    "rdmacm_fi_msg": functools.partial(libfabric, provider="verbs", endpoint="msg"),
    "rdmacm_fi_rdm": functools.partial(libfabric, provider="verbs;ofi_rxm", endpoint="rdm"),
    "rdmacm_rdma_core": rdma_core,
    "rdmacm_server_killed": server_killed,
    "example_rdma_echo": echo,
})
