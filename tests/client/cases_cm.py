# SPDX-License-Identifier: MIT
"""The connection manager in the device server: what it tells people, and fault rules for connections."""

import functools
import os
import random
import re
import shutil
import signal
import tempfile

from cases_faults import add, fired
from cases_perftest import ROW, TROUBLE
from cases_profile import write
from cases_rdmacm import join, need_library
from cases_veth import device, over_links
from instance import Instance, free_port
from namespaces import Pair
from program import Failure, Skip, until


def shown(build):
    """A failed attempt to connect explains itself, also when its program has exited; listeners and connections are listed."""
    with Instance(build, "cm_show") as instance:
        need_library(instance)
        address, port = instance.address, free_port()
        common = ["rping", "-a", address, "-p", str(port)]
        instance.run(common + ["-c", "-C", "1"], expect=None)
        instance.need_shown(rf"^  \d+ s ago, process \d+, tcp {address}:\d+ -> {address}:{port}: "
                            rf"no listener on port {port} at {address}: start the server first$")
        failure = instance.show()["rdma_failures"][0]
        if failure["event"] != "REJECTED" or failure["status"] != 8 or failure["remote"] != f"{address}:{port}":
            raise Failure(f"rxe_dm show --json: {failure}")
        server = instance.start(common + ["-s", "-P"])
        server.wait_until(lambda: listeners(instance), "listener")
        instance.need_shown(rf"^  tcp +{address}:{port} listening, process {server.pid}, 0 of \d+ requests not read")
        client = instance.start(common + ["-c"])
        client.wait_until(lambda: len(connections(instance)) == 2, "connection")
        instance.need_shown(rf"^  tcp +{address}:\d+ -> {address}:{port} established, process {client.pid}, QP \w+, peer QP \w+")


def listeners(instance):
    return [row for row in instance.show().get("rdma_ids", []) if row["state"] == "listening"]


def connections(instance):
    return [row for row in instance.show()["rdma_ids"] if row["state"] == "established"]


def rules(build):
    """Messages wait, come twice and get lost, requests are refused, calls fail: each program says what it must."""
    with Instance(build, "cm_rules") as instance:
        need_library(instance)
        common = ["rping", "-a", instance.address, "-p", str(free_port())]
        client = common + ["-c", "-C", "5", "-V"]
        server = instance.start(common + ["-s", "-P"])
        server.wait_until(lambda: listeners(instance), "listener")
        add(instance, "cm_reject reason=26 nth=1")
        if "RDMA_CM_EVENT_REJECTED, error 26" not in instance.run(client, expect=None):
            raise Failure("a request was not rejected by the rule")
        instance.need_shown(r"refused: its port has a smaller MTU \(reject reason 26\): give both interfaces the same$")
        add(instance, "verb name=rdma_resolve_addr errno=ENOBUFS nth=1")
        if "rdma_resolve_addr: No buffer space available" not in instance.run(client, expect=None):
            raise Failure("rdma_resolve_addr did not fail by the rule")
        instance.command("fault", "clear")
        add(instance, "verb name=rdma_init_qp_attr errno=ENOBUFS every=1")
        if "rdma_create_qp: No buffer space available" not in instance.run(client, expect=None):
            raise Failure("rdma_create_qp did not fail by the rule of its transition")
        instance.command("fault", "clear")
        add(instance, "cm_delay message=REP dir=out time=300ms", "cm_duplicate message=REQ,DREQ",
            "cm_drop message=DREP nth=1")
        join(instance, server, client)
        until(lambda: not connections(instance), "end of the connection")
        if not all(fired(instance)):
            raise Failure(f"fired: {fired(instance)}")


def lost(build):
    """A request, its answer and the end of a connection are lost once each: they are sent again, and rping hears nothing of it."""
    with Instance(build, "cm_lost") as instance:
        need_library(instance)
        common = ["rping", "-a", instance.address, "-p", str(free_port())]
        server = instance.start(common + ["-s", "-P"])
        server.wait_until(lambda: listeners(instance), "listener")
        add(instance, "cm_drop message=REQ dir=out nth=1", "cm_drop message=REP dir=in nth=1",
            "cm_drop message=DREQ dir=out nth=1")
        join(instance, server, common + ["-c", "-C", "5", "-V"])
        until(lambda: not connections(instance), "end of the connection")
        if fired(instance) != [1, 1, 1]:
            raise Failure(f"fired: {fired(instance)}")


class Crowd:
    """Many connections of a server and its clients (cm_crowd.c)."""

    def __init__(self, instance, backlog=0, qp=()):
        need_library(instance)
        self.instance = instance
        self.program = os.path.join(instance.build, "tests", "client", "cm_crowd")
        self.port = str(free_port())
        self.backlog = str(backlog)
        self.qp = list(qp)
        self.server = None

    def serve(self):
        self.server = self.instance.start([self.program, "serve", self.instance.address, self.port, self.backlog, *self.qp],
                                          title="cm_crowd (server)")
        self.server.wait_for_line("listening")
        return self.server

    def hold(self, count):
        return self.instance.start([self.program, "hold", self.instance.address, self.port, str(count), *self.qp],
                                   title="cm_crowd (client)")

    def established(self, client, count):
        """All of the client's connections are there."""
        client.wait_for_line(rf"established {count}\nfailed 0\n")

    def connect(self, count, window):
        text = self.instance.run([self.program, "connect", self.instance.address, self.port, str(count), str(window), *self.qp])
        if f"established {count}\nfailed 0\ndisconnected {count}\n" not in text:
            raise Failure(f"not all connections came and went:\n{text}")


def device_events(build):
    """Rules about the device: every id hears that its address changed, that it is back, and that the device is removed."""
    with Instance(build, "cm_device") as instance:
        crowd = Crowd(instance)
        server = crowd.serve()
        client = crowd.hold(3)
        crowd.established(client, 3)
        add(instance, "gid_change index=0 gid=none time=100ms")
        for program in (server, client):
            program.wait_until(lambda p=program: p.text().count("RDMA_CM_EVENT_ADDR_CHANGE") >= 6, "changed addresses")
        add(instance, "device_fatal")
        for program in (server, client):
            program.wait_until(lambda p=program: p.text().count("RDMA_CM_EVENT_DEVICE_REMOVAL") >= 3, "removed device")


def sleeps(program):
    with open(f"/proc/{program.pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "S"


def server_stopped(build):
    """rxe_dm stop under programs that read events forever: each id has one DEVICE_REMOVAL, then they wait."""
    with Instance(build, "cm_stopped") as instance:
        crowd = Crowd(instance)
        server = crowd.serve()
        client = crowd.hold(3)
        crowd.established(client, 3)
        instance.command("stop")
        for program, ids in ((server, 4), (client, 3)):
            program.wait_until(lambda p=program, n=ids: p.text().count("RDMA_CM_EVENT_DEVICE_REMOVAL") == n and sleeps(p),
                               "removed device, and a program that waits")


def nothing_left(instance):
    """What programs had has ended with them: ids, queue pairs, memory."""
    def empty():
        shown = instance.show()
        device = shown["devices"][0]
        return not shown["rdma_ids"] and not any(device[what] for what in ("programs", "contexts", "pds", "mrs"))
    until(empty, "instance without programs and their objects")


def many(build):
    """Connections that come and go, many at a time; then many that stay, and end with their servers. RXE_TEST_CONNECTIONS: how many.
    With queue pairs they are spread over as many servers and clients as it takes, since a process has 4096."""
    count = int(os.environ.get("RXE_TEST_CONNECTIONS", "400"))
    for qp in ((), ("qp",)):
        pairs = -(-count // 4000) if qp else 1
        share = -(-count // pairs)
        with Instance(build, "cm_many") as instance:
            crowds = [Crowd(instance, qp=qp) for _ in range(pairs)]
            servers = [crowd.serve() for crowd in crowds]
            crowds[0].connect(count // 2, 100)
            clients = [crowd.hold(share) for crowd in crowds]
            for crowd, client in zip(crowds, clients):
                crowd.established(client, share)
            if len(connections(instance)) != 2 * share * pairs:
                raise Failure("rxe_dm show does not list all connections")
            for server in servers:
                server.kill()
            if any(client.wait(60) != 0 for client in clients):
                raise Failure("a client did not hear of its server's end")
            nothing_left(instance)


def backlog_overflow(build):
    """What comes beyond the backlog is dropped, counted and sent again: each connection comes in the end."""
    with Instance(build, "cm_backlog") as instance:
        crowd = Crowd(instance, backlog=4)
        server = crowd.serve()
        server.kill(signal.SIGSTOP)
        client = crowd.hold(10)
        until(lambda: listeners(instance)[0]["dropped"] >= 6, "request beyond the backlog")
        instance.need_shown(r"4 of 4 requests not read, \d+ requests dropped: the backlog was full")
        server.kill(signal.SIGCONT)
        crowd.established(client, 10)


def killed(build):
    """Either side is killed at any moment, also in the middle of its connects: the other side hears of every connection, and
    nothing stays behind. RXE_TEST_KILLS: how often."""
    dice = random.Random(7)
    with Instance(build, "cm_killed") as instance:
        crowd = Crowd(instance, qp=["qp"])
        crowd.serve()
        for _ in range(int(os.environ.get("RXE_TEST_KILLS", "8"))):
            client = crowd.hold(20)
            wanted = dice.randrange(0, 40)
            client.wait_until(lambda: len(connections(instance)) >= wanted, "some connections")
            if dice.randrange(2):
                client.kill()
                client.wait(60)
                until(lambda: not connections(instance), "end of the connections at the server")
            else:
                crowd.server.kill()
                if client.wait(60) != 0:
                    raise Failure("the client did not hear of its server's end")
                nothing_left(instance)
                crowd.serve()
        crowd.server.kill()
        nothing_left(instance)


def listener_killed(build):
    """A listener dies with many connects under way: each of them ends. RXE_TEST_CONNECTIONS: how many."""
    count = int(os.environ.get("RXE_TEST_CONNECTIONS", "1000"))
    with Instance(build, "cm_listener") as instance:
        crowd = Crowd(instance)
        server = crowd.serve()
        client = crowd.hold(count)
        client.wait_until(lambda: len(connections(instance)) > count // 4, "some connections")
        server.kill()
        if client.wait(60) != 0:
            raise Failure("a connect came to no end")
        nothing_left(instance)


def across(build, v6):
    """Two hosts, by each way to put two links across a veth pair: rping, and perftest that connects by librdmacm (IPv4 only)."""
    def use(here, there, _pair):
        need_library(here)
        address = here.address.split("/")[0]
        perftest = [] if v6 else [["ib_send_bw", "-R", "-F", "-x", "0", "-n", "300", "-p"]]
        for words in [["rping", "-s", "-a", address, "-C", "10", "-V", "-p"], *perftest]:
            port = str(free_port())
            server = here.start(words + [port], title=words[0] + " (server)")
            server.wait_until(lambda: listeners(here), "listener")
            client = ["rping", "-c", "-a", address, "-C", "10", "-V", "-p", port] if words[0] == "rping" else words + [port, address]
            program = there.start(client, title=words[0] + " (client)")
            for one in (program, server):
                if one.wait(60) != 0:
                    raise Failure(f"{one.title}: exit {one.process.returncode}")
            if TROUBLE.search(program.text()) or (words[0] != "rping" and not ROW.search(program.text())):
                raise Failure(f"{program.title}: no result")
    over_links(build, "cmv", use, v6)


# Debian's programs that connect by librdmacm: server and client.
ACROSS = [
    ("ucmatose -b {address} -p {port} -C 5 -S 4000", "ucmatose -s {address} -p {port} -C 5 -S 4000"),
    ("udaddy -b {address} -C 5", "udaddy -s {address} -C 5"),
    ("rdma_server -s {address} -p {port}", "rdma_client -s {address} -p {port}"),
    # Not -T a: do_poll() of rdma-core's librdmacm/examples/common.c takes POLLHUP beside the last bytes for a failure.
    ("rstream -b {address} -p {port} -I 20 -C 1 -S 65536 -T b", "rstream -s {address} -p {port} -I 20 -C 1 -S 65536 -T b"),
]


def programs_across(build, v6):
    """Two hosts: the programs of ACROSS, one after the other, the server on a UDP link and the client on an Ethernet link."""
    with Pair() as pair, device(build, "cma", pair, 0, "udp", v6) as here, device(build, "cma", pair, 1, "ethernet", v6) as there:
        need_library(here)
        for commands in ACROSS:
            values = {"address": here.address.split("/")[0], "port": free_port()}
            command, other = (one.format(**values).split() for one in commands)
            server = here.start(command, title=command[0] + " (server)")
            server.wait_until(lambda: listeners(here), "listener")
            client = there.start(other, title=other[0] + " (client)")
            for one in (client, server):
                if one.wait(60) != 0:
                    raise Failure(f"{one.title}: exit {one.process.returncode}")
            if TROUBLE.search(client.text()):
                raise Failure(f"{client.title}: no good end")


def nobody_there(build):
    """On an Ethernet link an address that nobody has is an error of rdma_resolve_addr(), and rxe_dm show says so."""
    for v6 in (False, True):
        with Pair() as pair, device(build, "cmn", pair, 0, "ethernet", v6) as here:
            need_library(here)
            nobody = "fd77::99" if v6 else "10.77.0.99"
            text = here.run(["rping", "-c", "-a", nobody, "-C", "1"], expect=None)
            if "RDMA_CM_EVENT_ADDR_ERROR, error -110" not in text:
                raise Failure(f"no ADDR_ERROR:\n{text}")
            here.need_shown(rf"nobody on the device's Ethernet answers for {nobody}")
            if not v6:
                text = here.run(["rping", "-c", "-a", "10.78.0.1", "-C", "1"], expect=None)
                if "RDMA_CM_EVENT_ADDR_ERROR, error -101" not in text:
                    raise Failure(f"a route without a gateway:\n{text}")


ROUTED = "ip link set lo up; ip link add v0 type veth peer name v1; ip addr add 10.77.9.1/24 dev v0; ip link set v0 up; ip link set v1 up"


def wrong_address(build):
    """An address that no device has, or reaches: one line names the devices' own. Addresses that a library merely tries cost none."""
    with Instance(build, "cm_wrong", address="127.5.5.5") as here:
        need_library(here)
        text = here.run(["rping", "-s", "-a", "192.0.2.7", "-p", "7177"], expect=None)
        if len(re.findall(r"^rxe_dm: no device has the address 192\.0\.2\.7: rxe_dm0 has 127\.5\.5\.5; ", text, re.MULTILINE)) != 1:
            raise Failure(f"bind: {text}")
        text = here.run(["rping", "-c", "-a", "127.5.5.5", "-I", "192.0.2.7", "-p", "7177", "-C", "1"], expect=None)
        if "no device" in text:
            raise Failure(f"an address without a port: {text}")
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        raise Skip("a route needs root, unshare and ip")
    with Instance(build, "cm_unreached", address="127.5.5.5", prefix=["unshare", "-n", "sh", "-c", ROUTED + ' && exec "$@"', "sh"]) as here:
        text = here.run(["rping", "-c", "-a", "10.77.9.2", "-p", "7177", "-C", "1"], expect=None)
        if not re.search(r"^rxe_dm: no device reaches the address 10\.77\.9\.2: rxe_dm0 has 127\.5\.5\.5; ", text, re.MULTILINE):
            raise Failure(f"resolve: {text}")


def more_reads(build):
    """A server that answers with its device's maximum, as perftest's does: a client whose device has less reads as it can."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "cm_reads") as here, \
            Instance(build, "cm_reads_few", profile=write(folder, "max_qp_rd_atom=4\nmax_qp_init_rd_atom=3\n")) as there:
        need_library(here)
        words = ["ib_read_bw", "-R", "-F", "-x", "0", "-n", "300", "-p", str(free_port())]
        server = here.start(words, title="ib_read_bw (server)")
        server.wait_until(lambda: listeners(here), "listener")
        client = there.start([*words, "-o", "3", here.address], title="ib_read_bw (client)")
        for one in (client, server):
            if one.wait(60) != 0:
                raise Failure(f"{one.title}: exit {one.process.returncode}")
        if TROUBLE.search(client.text()) or not ROW.search(client.text()):
            raise Failure(f"{client.title}: no result")


def refused_here(build):
    """What a program's own end refuses stands among the failed connections: READs beyond its device, a queue pair that does not move."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "cm_refuses") as here, \
            Instance(build, "cm_refuses_few", profile=write(folder, "max_qp_rd_atom=4\nmax_qp_init_rd_atom=3\n")) as there:
        need_library(here)
        words = ["ib_read_bw", "-R", "-F", "-x", "0", "-n", "300", "-p", str(free_port())]
        server = here.start(words, title="ib_read_bw (server)")
        server.wait_until(lambda: listeners(here), "listener")
        there.run([*words, here.address], expect=None)
        there.need_shown(rf"tcp {there.address}:\d+ -> {here.address}:\d+: the program asked for initiator_depth 4, its device has 3 READs "
                         r"and atomics: ask for at most 3, or raise max_qp_init_rd_atom in the device's profile")
        failure = there.show()["rdma_failures"][-1]
        if (failure["event"], failure["status"], failure["asked"], failure["most"]) != ("CONNECT_ERROR", -22, 4, 3):
            raise Failure(f"rxe_dm show --json: {failure}")
        common = ["rping", "-a", here.address, "-p", str(free_port()), "-C", "1"]
        server = here.start([*common, "-s", "-P"])
        server.wait_until(lambda: listeners(here), "listener")
        add(there, "verb name=ibv_modify_qp errno=EIO nth=3")
        if "RDMA_CM_EVENT_CONNECT_ERROR, error -5" not in there.run([*common, "-c"], expect=None):
            raise Failure("the queue pair was moved")
        there.need_shown(r"own queue pair did not go to RTS \(Input/output error\): ")


CASES = {
    "cm_refused_here": refused_here,
    "cm_more_reads": more_reads,
    "cm_wrong_address": wrong_address,
    "cm_server_stopped": server_stopped,
    "cm_veth": functools.partial(across, v6=False),
    "cm_veth_ipv6": functools.partial(across, v6=True),
    "cm_veth_programs": functools.partial(programs_across, v6=False),
    "cm_veth_programs_ipv6": functools.partial(programs_across, v6=True),
    "cm_nobody_there": nobody_there,
    "cm_device_events": device_events,
    "cm_many": many,
    "cm_backlog": backlog_overflow,
    "cm_killed": killed,
    "cm_listener_killed": listener_killed,
    "cm_show": shown,
    "cm_rules": rules,
    "cm_lost": lost,
}
