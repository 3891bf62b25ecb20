# SPDX-License-Identifier: MIT
"""Connections by librdmacm: Debian's own programs in two processes, and programs of ours against the public calls."""

import functools
import os
import re
import signal
import tempfile

from cases_perftest import ROW, TROUBLE
from cases_python import PYTHON, TESTS as RDMA_CORE, count, judge, need_pyverbs, unpack
from huge_pages import huge_pages, in_pool
from explained import explained
from instance import Instance, free_port
from program import Failure, Skip, until

TESTS = ["connect", "events", "bad", "limits", "newer", "queues", "sync", "reasons"]


def need_library(instance):
    if not os.path.exists(os.path.join(instance.build, "lib", "rdmacm", "librdmacm.so.1")):
        raise Skip("librdmacm was not built: librdmacm-dev is not installed")


def ours(build, name, **settings):
    """Each call that fails must have a reason."""
    with Instance(build, "rdmacm_" + name, **settings) as instance, explained() as log:
        need_library(instance)
        instance.run([os.path.join(build, "tests", "client", "rdmacm_" + name)], timeout_s=120, env=log)


def listeners(instance):
    return sum(one["state"] == "listening" for one in instance.show().get("rdma_ids", []))


def listens(instance):
    return listeners(instance) > 0


def join(instance, server, client, timeout_s=60):
    """A client that succeeds. It starts when its server listens: a program that makes many connections gives up at the first one that
    is rejected."""
    server.wait_until(lambda: listens(instance), "listener", timeout_s)
    program = instance.start(client, title=client[0] + " (client)")
    if program.wait(timeout_s) != 0:
        raise Failure(f"{' '.join(client)}: exit {program.process.returncode}")
    return program


def run_pair(instance, server, client):
    """server, client: lists of words, {address} and {port} in them. Both come to a good end; what the client printed."""
    values = {"address": instance.address, "port": free_port()}
    program = instance.start([word.format(**values) for word in server], title=server[0] + " (server)")
    other = join(instance, program, [word.format(**values) for word in client])
    if program.wait(60) != 0:
        raise Failure(f"{program.title}: exit {program.process.returncode}")
    for text in (program.text(), other.text()):
        if TROUBLE.search(text):
            raise Failure(f"{' '.join(client)}: it speaks of '{TROUBLE.search(text).group(0)}'")
    return other.text()


def pair(build, name, server, client, **settings):
    with Instance(build, name, **settings) as instance:
        need_library(instance)
        run_pair(instance, server, client)


def sizes(build):
    """rping's payloads, verified by both sides."""
    with Instance(build, "rping_sizes") as instance:
        need_library(instance)
        for size in RPING_SIZES:
            common = words("-a {address} -p {port} -C 5 -V -S") + [str(size)]
            run_pair(instance, ["rping", "-s"] + common, ["rping", "-c"] + common)


def words(text):
    return text.split()


def connected(instance, client):
    """A client that has its connection."""
    program = instance.start(client)
    program.wait_until(lambda: any(one["state"] == "established" and one["pid"] == program.pid
                                   for one in instance.show().get("rdma_ids", [])), "connection")
    return program


def persistent(build):
    """One server, clients in turn, beside four others, and after those four were killed."""
    with Instance(build, "rping_persistent") as instance:
        need_library(instance)
        port = free_port()
        common = ["rping", "-a", instance.address, "-p", str(port)]
        server = instance.start(common + ["-s", "-P"])
        for _ in range(2):
            join(instance, server, common + ["-c", "-C", "20", "-V"])
        # One after the other: rping's server stores one request, and a second one would replace it before its thread reads it.
        endless = [connected(instance, common + ["-c"]) for _ in range(4)]
        join(instance, server, common + ["-c", "-C", "20", "-V"])
        for program in endless:
            program.kill()
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
        text = instance.run(["cmtime", "-s", instance.address, "-p", port, "-c", "1000"])
        if not re.search(r"^connect +: +[\d.]+", text, re.MULTILINE) or "error" in text:
            raise Failure("cmtime: no time of its connections")


def gids(build):
    """Addresses of family AF_IB, which a RoCE port does not have: both sides say so, as on Linux."""
    with Instance(build, "cm_gids") as instance:
        need_library(instance)
        gid = "::ffff:" + instance.address
        for command, why in ((["ucmatose", "-b", gid], "bind address failed"), (["ucmatose", "-s", gid], "failure getting addr"),
                            (["udaddy", "-b", gid], "bind address failed"), (["udaddy", "-s", gid], "failure getting addr")):
            text = instance.run(command + ["-f", "gid"], expect=None)
            if not re.search(rf"{why}.*: No such device", text):
                raise Failure(f"{' '.join(command)} -f gid says '{text}'")


def groups(build, options):
    """mckey: a receiver and a sender of one group."""
    with Instance(build, "mckey") as instance:
        need_library(instance)
        # Line by line into its file.
        common = ["stdbuf", "-oL", "mckey", "-b", instance.address] + words(options)
        receiver = instance.start(common)
        receiver.wait_for_line("joined dgid")
        sender = instance.start(common + ["-s"], title="mckey (sender)")
        for program in (sender, receiver):
            if program.wait(60) != 0:
                raise Failure(f"{program.title}: exit {program.process.returncode}")


def qperf(build):
    """Connections by the connection manager, which qperf uses for RC alone. Its UC and UD address by LID, which no RoCE device
    has: docs/DEVIATIONS.md. Its server tells its port before it listens at it, so a fast client may be rejected, and is started
    again. Both ends of UC and UD fail at the same time, and each interrupts the other: at times neither prints its reason."""
    with Instance(build, "qperf") as instance:
        need_library(instance)
        port = free_port()
        server = instance.start(["qperf", "-lp", str(port)])
        server.wait_listening(port)
        client = ["qperf", instance.address, "-lp", str(port), "-cm1"]
        for name in QPERF:
            text = instance.run(client + ["-t", "1", name], expect=None)
            while "Event rejected" in text:
                text = instance.run(client + ["-t", "1", name], expect=None)
            if not re.search(rf"{name}:\n +\w+ += +[\d.]+", text):
                raise Failure(f"qperf: no result of {name}")
        for name, verb in (("ud_lat", "ibv_create_ah"), ("uc_lat", "ibv_modify_qp")):
            instance.run(client + ["-t", "1", name], expect=1)
            instance.need_shown(rf"^  \d+ s ago, qperf\[\d+\] {verb}: Invalid argument: .*RoCE requires a GID, but is_global is 0")


def run_fio(instance, verb="write", memory="malloc"):
    """fio connects with rnr_retry 0, so the receives of its verb send must be there: posted in the half second that its client
    sleeps, and as many as there are messages."""
    job = ["fio", "--name=job", "--ioengine=rdma", "--port={port}", "--bs=64k", "--size=1m", f"--mem={memory}"]
    text = run_pair(instance, job + ["--rw=read", "--iodepth=32"],
                    job + ["--hostname={address}", "--rw=write", "--iodepth=4", f"--verb={verb}"])
    if "err= 0" not in text:
        raise Failure(f"fio, verb {verb}, memory {memory}: no good end")


def fio_verbs(build):
    """Its engine rdma: the server's side writes nothing to disk, the client's reads nothing from it."""
    with Instance(build, "fio") as instance:
        need_library(instance)
        for verb in ("write", "read", "send"):
            run_fio(instance, verb=verb)


def fio_memory(build):
    """Its buffers of every kind, in huge pages where there are some."""
    with Instance(build, "fio_memory") as instance, huge_pages():
        need_library(instance)
        for memory in ["shm", "mmap", "mmapshared"] + (["mmaphuge", "shmhuge"] if in_pool() else []):
            run_fio(instance, memory=memory)


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
    """Programs that wait for a request, by rdma_get_request() and by raccept(), end when the device server has died. A listener
    without an address is on no device, which could be removed."""
    with Instance(build, "cm_server_killed") as instance:
        need_library(instance)
        programs = {}
        for call, command in (("rdma_get_request", [os.path.join(build, "examples", "rdma_echo"), "serve", instance.address, "0"]),
                              ("raccept (any address)", ["rstream", "-p", str(free_port())]),
                              ("raccept", ["rstream", "-p", str(free_port()), "-b", instance.address])):
            programs[call] = instance.start(command)
            programs[call].wait_until(lambda: listeners(instance) == len(programs), "listener")
        os.kill(instance.server_pid(), signal.SIGKILL)
        for call, program in programs.items():
            program.wait(60)
            if call.split()[0] not in program.text():
                raise Failure(f"{call}: the program said '{program.text()}'")


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
        # The completions of sends: the client's, that of its answer, that of the empty message.
        for number in ("2", "3"):
            instance.command("fault", "add", "completion", "status=IBV_WC_RETRY_EXC_ERR", "side=send", f"nth={number}")
            for _ in range(2):
                text = instance.run([program, "ask", instance.address, port, "hello"])
                if not text.endswith("echo: hello\n"):
                    raise Failure(f"rdma_echo said '{text}'")
            instance.command("fault", "clear")


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
        text = instance.run([PYTHON, "-B", os.path.join(target, "run_tests.py"), "-v", "--dev", "rxe_dm0", "--port", "1", "--gid",
                             "0", "tests.test_rdmacm"], timeout_s=200, expect=None)
    judge(text, "test_rdmacm")
    for why in count(text)[1]["test_rdmacm"]:
        raise Failure(f"test_rdmacm: a test skipped itself: {why}")


PAIRS = {
    "rping": ("rping -s -a {address} -p {port} -C 10 -V", "rping -c -a {address} -p {port} -C 10 -V"),
    "rping_any": ("rping -s -p {port} -C 10", "rping -c -a {address} -I {address} -p {port} -C 10"),
    "rping_any_family": ("rping -s -a :: -p {port} -C 10", "rping -c -a {address} -p {port} -C 10"),
    "rping_own_qp": ("rping -s -q -a {address} -p {port} -C 10", "rping -c -q -a {address} -p {port} -C 10"),
    "ucmatose": ("ucmatose -b {address} -p {port}", "ucmatose -s {address} -p {port}"),
    "ucmatose_connections": ("ucmatose -b {address} -p {port} -c 16 -C 5 -S 4000",
                             "ucmatose -s {address} -p {port} -c 16 -C 5 -S 4000"),
    "ucmatose_migrate": ("ucmatose -b {address} -p {port} -m", "ucmatose -s {address} -p {port} -m"),
    "udaddy": ("udaddy -b {address}", "udaddy -s {address}"),
    "udaddy_connections": ("udaddy -b {address} -c 8 -C 5 -S 1000", "udaddy -s {address} -c 8 -C 5 -S 1000"),
    "udaddy_tos": ("udaddy -b {address} -t 2 -c 2", "udaddy -s {address} -t 2 -c 2"),
    "ucmatose_ack_timeout": ("ucmatose -b {address} -p {port} -a 10 -t 8", "ucmatose -s {address} -p {port} -a 10 -t 8"),
    "ucmatose_port_space_ib": ("ucmatose -p {port} -P ib", "ucmatose -s {address} -p {port} -P ib"),
    "rdma_server": ("rdma_server -s {address} -p {port}", "rdma_client -s {address} -p {port}"),
    "rdma_xserver": ("rdma_xserver -p {port}", "rdma_xclient -s {address} -p {port}"),
    "rdma_xserver_xrc": ("rdma_xserver -p {port} -c x", "rdma_xclient -s {address} -p {port} -c x"),
}
# Of rping at least: the sizes on both sides of a packet's, and its smallest and largest.
RPING_SIZES = [23, 64, 1023, 1024, 1025, 4096, 4097, 65535]
# Those that do not insist on IPv4 addresses, as perftest, qperf and fio do.
IPV6 = ["rping", "rping_any_family", "rping_own_qp", "ucmatose", "udaddy", "rdma_server"]

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
    "atomic_bw": ["ib_atomic_bw", "-n", "500"],
    "send_bw_4_qps": ["ib_send_bw", "-q", "4", "-n", "200"],
    "write_bw_4_qps": ["ib_write_bw", "-q", "4", "-n", "200"],
    "send_bw_ud_4_qps": ["ib_send_bw", "-c", "UD", "-s", "1024", "-q", "4", "-n", "200"],
    "send_bw_bidirectional": ["ib_send_bw", "-b", "-n", "500"],
    "write_bw_bidirectional": ["ib_write_bw", "-b", "-n", "500"],
    "read_bw_bidirectional": ["ib_read_bw", "-b", "-n", "500"],
    "send_bw_events": ["ib_send_bw", "-e", "-n", "500"],
    "send_bw_srq": ["ib_send_bw", "--use-srq", "-n", "500"],
    "write_bw_exchange": ["ib_write_bw", "-z", "-n", "500"],
    "write_lat_tos": ["ib_write_lat", "-T", "96", "-n", "500"],
}

QPERF = ["rc_bi_bw", "rc_bw", "rc_lat", "rc_rdma_read_bw", "rc_rdma_read_lat", "rc_rdma_write_bw", "rc_rdma_write_lat",
         "rc_rdma_write_poll_lat", "rc_compare_swap_mr", "rc_fetch_add_mr", "ver_rc_compare_swap", "ver_rc_fetch_add"]

CASES = {f"rdmacm_{name}": functools.partial(ours, name=name) for name in TESTS}
CASES["rdmacm_connect_ipv6"] = functools.partial(ours, name="connect", address="::1")
for _name, (_server, _client) in PAIRS.items():
    CASES[f"rdmacm_{_name}"] = functools.partial(pair, name=_name, server=words(_server), client=words(_client))
for _name in IPV6:
    CASES[f"rdmacm_{_name}_ipv6"] = functools.partial(pair, name=_name + "6", address="::1", server=words(PAIRS[_name][0]),
                                                      client=words(PAIRS[_name][1]))
CASES.update({f"rdmacm_perftest_{name}": functools.partial(perftest, name=name, args=args) for name, args in PERFTESTS.items()})
CASES.update({
    "rdmacm_rping_persistent": persistent,
    "rdmacm_rping_sizes": sizes,
    "rdmacm_cmtime": times,
    "rdmacm_gids": gids,
    "rdmacm_mckey": functools.partial(groups, options="-m 239.1.2.3"),
    "rdmacm_mckey_several": functools.partial(groups, options="-m 239.1.2.3 -c 3 -C 5 -S 1000"),
    "rdmacm_mckey_unmapped": functools.partial(groups, options="-M ::ffff:239.1.2.3"),
    "rdmacm_qperf": qperf,
    "rdmacm_fio_verbs": fio_verbs,
    "rdmacm_fio_memory": fio_memory,
    "rdmacm_rdma_core": rdma_core,
    "rdmacm_server_killed": server_killed,
    "example_rdma_echo": echo,
})
