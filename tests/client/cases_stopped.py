# SPDX-License-Identifier: MIT
"""Programs that are stopped: their peers on this machine wait for them, longer than their retries last, and all come to a good end."""

import contextlib
import functools
import json
import os
import re
import signal
import tempfile
import time

import mpi
from cases_perftest import ROW, TROUBLE
from cases_python import PYTHON
from cases_rdmacm import listens, need_library
from cases_trouble import sent, wait_clean, wait_traffic
from cases_veth import device
from cases_faults import add, fired
from cases_labs import Lab
from instance import Instance, free_port, need_program
from namespaces import Pair
from program import Failure, Program, Skip, until

# Eight times 0.27 s: shorter than a stop, and longer than a busy machine keeps a program from its processor.
TIMEOUT = ["-u", "16"]
STOP_S = 4
# The timeout of connections of librdmacm: 4.096 us << 19, rounded up.
CM_TIMEOUT_S = 3
TRIES = 8
WRITES = ["ib_write_bw", "-F", "-x", "0", "-s", "4096", *TIMEOUT]
RPING = ["rping", "-V", "-C", "3000", "-S", "1000"]
RSTREAM = ["rstream", "-T", "b", "-I", "3000", "-C", "1", "-S", "1000"]


def stopped(instance, pid):
    """The program's row of 'rxe_dm show --json' where it is stopped; else None."""
    for device in instance.show()["devices"]:
        for program in device["programs"]:
            if program["pid"] == pid and program["stopped"]:
                return program
    return None


def waits(instance, pid, waiting, seconds=0):
    program = stopped(instance, pid)
    return program and set(program.get("waiting", [])) >= set(waiting) and program["stopped_s"] >= seconds


def wait_stop(instance, pid, waiting):
    """Until the programs that wait for it have done so for longer than their retries last."""
    until(lambda: waits(instance, pid, waiting, STOP_S), f"{waiting} that wait {STOP_S} s for the stopped process {pid}", 60)


def both_end(server, client):
    for program in (client, server):
        if program.wait(60) != 0 or TROUBLE.search(program.text()):
            raise Failure(f"{program.title}: {program.text()}")
    if not ROW.search(client.text()):
        raise Failure(f"{client.title}: no row of results")


@contextlib.contextmanager
def by_signal(program):
    program.kill(signal.SIGSTOP)
    yield
    program.kill(signal.SIGCONT)


@contextlib.contextmanager
def by_debugger(program):
    """gdb attaches, and detaches when the test closes a FIFO."""
    need_program("gdb")
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        gdb = Program("gdb", ["gdb", "-q", "-nx", "-batch", "-p", str(program.pid), "-ex", f"shell echo attached; cat {fifo}"],
                      dict(os.environ))
        try:
            gdb.wait_for_line("attached", 120)
            yield
            os.close(os.open(fifo, os.O_WRONLY))
            gdb.wait(60)
        finally:
            gdb.end()


# Where cgroups of version 2 and of version 1 are, the file that freezes one, and what is written to it.
FREEZERS = [("/sys/fs/cgroup", "cgroup.freeze", "1", "0"), ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0"),
            ("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED")]


def own_group(root):
    """The group of this process below a root."""
    with open("/proc/self/cgroup", encoding="ascii") as f:
        pattern = r"^\d+:freezer:(.*)$" if root.endswith("/freezer") else "^0::(.*)$"
        return root + re.search(pattern, f.read(), re.MULTILINE).group(1)


@contextlib.contextmanager
def by_freezer(program):
    for root, file, freeze, thaw in FREEZERS:
        group = f"{root}/rxe_dm-{program.pid}"
        with contextlib.suppress(OSError):
            os.mkdir(group)
        if os.access(os.path.join(group, file), os.W_OK):
            break
        with contextlib.suppress(OSError):
            os.rmdir(group)
    else:
        raise Skip("no cgroup can be made here that freezes processes")
    try:
        put(f"{group}/cgroup.procs", program.pid)
        put(f"{group}/{file}", freeze)
        yield
    finally:
        put(f"{group}/{file}", thaw)
        put(f"{own_group(root)}/cgroup.procs", program.pid)
        os.rmdir(group)


def put(path, value):
    with open(path, "w", encoding="ascii") as f:
        f.write(str(value))


def target(build, name, args, stop, **settings):
    """The server of a pair is stopped in the middle of requests to it."""
    with Instance(build, f"stopped_{name}", **settings) as instance:
        stop_target(instance, args, stop)


def stop_target(instance, args, stop):
    port = free_port()
    server = instance.serve(args, port)
    client = instance.join(args, port)
    wait_traffic(instance)
    with stop(server):
        wait_stop(instance, server.pid, [client.pid])
        text = instance.command("show").stdout
        if not re.search(rf"^  stopped: {args[0]}\[{server.pid}\], for at least \d+ s; waiting for it: {args[0]}\[{client.pid}\]$",
                         text, re.MULTILINE):
            raise Failure(f"rxe_dm show:\n{text}")
    both_end(server, client)
    retried = instance.show()["devices"][0]["counters"]["retry_exceeded_err"]
    if retried:
        raise Failure(f"{retried} queue pairs ran out of retries")


def on_interface(build):
    """The device is a host of its own on an interface: packets between its programs pass the link."""
    with Pair() as pair, device(build, "stopped", pair, 0) as instance:
        stop_target(instance, [*WRITES, "-D", "6"], by_signal)


def stop_in_wait(instance, target, is_waiting):
    """Stops a program until another one waits for it. A stop after the last ACK, of which the other one knows nothing, is tried again."""
    for _ in range(TRIES):
        target.kill(signal.SIGSTOP)
        end = time.monotonic() + CM_TIMEOUT_S + 1
        until(lambda end=end: time.monotonic() > end or is_waiting(), "end of a timeout")
        if is_waiting():
            return
        before = sent(instance)
        target.kill(signal.SIGCONT)
        until(lambda before=before: sent(instance) > before + 20, "traffic after a stop")
    raise Failure(f"{TRIES} stops of {target.title}, and its peer has not waited once")


def connected(build, args, bind, join, **settings):
    """Requests and answers over connections of librdmacm, whose retries take seventeen seconds. The stop lasts longer than a timeout, in
    which no packet is sent."""
    with Instance(build, f"stopped_{args[0]}", **settings) as instance:
        need_library(instance)
        args = [*args, "-p", str(free_port())]
        server = instance.start([*args, *bind, instance.address], title=f"{args[0]} (server)")
        server.wait_until(lambda: listens(instance), "listener")
        client = instance.start([*args, *join, instance.address], title=f"{args[0]} (client)")
        client.wait_until(lambda: sent(instance) > 200, "traffic")
        stop_in_wait(instance, server, lambda: waits(instance, server.pid, [client.pid]))
        before = sent(instance)
        until(lambda: waits(instance, server.pid, [client.pid], CM_TIMEOUT_S), "wait of a whole timeout")
        if sent(instance) != before:
            raise Failure(f"{sent(instance) - before} packets were sent to a stopped program")
        server.kill(signal.SIGCONT)
        for program in (client, server):
            if program.wait(60) != 0:
                raise Failure(f"{program.title}: exit {program.process.returncode}")


def answers(build):
    """Messages to and fro: the stopped program may have received all, so that the other one has nothing that waits for an ACK."""
    with Instance(build, "stopped_answers") as instance:
        port, args = free_port(), ["ib_send_lat", "-e", "-F", "-x", "0", "-n", "50000", *TIMEOUT]
        server = instance.serve(args, port)
        client = instance.join(args, port)
        wait_traffic(instance)
        for program in (server, client):
            with by_signal(program):
                end = time.monotonic() + STOP_S
                until(lambda end=end: time.monotonic() > end and stopped(instance, program.pid), "end of the retries")
        both_end(server, client)


def both(build):
    """Both ends, the target first, and each runs again before the other."""
    with Instance(build, "stopped_both") as instance:
        port = free_port()
        args = [*WRITES, "-D", "8"]
        server = instance.serve(args, port)
        client = instance.join(args, port)
        wait_traffic(instance)
        server.kill(signal.SIGSTOP)
        until(lambda: (stopped(instance, server.pid) or {}).get("waiting") == [client.pid], "client that waits")
        client.kill(signal.SIGSTOP)
        wait_stop(instance, server.pid, [client.pid])
        client.kill(signal.SIGCONT)
        server.kill(signal.SIGCONT)
        both_end(server, client)


def killed(build):
    """A stopped program that is killed fails its peers."""
    with Instance(build, "stopped_killed") as instance:
        port = free_port()
        args = [*WRITES, "-D", "120"]
        server = instance.serve(args, port)
        client = instance.join(args, port)
        wait_traffic(instance)
        server.kill(signal.SIGSTOP)
        wait_stop(instance, server.pid, [client.pid])
        server.kill(signal.SIGKILL)
        if client.wait(30) == 0:
            raise Failure("the client has not failed")
        wait_clean(instance)


def waits_elsewhere(shown, waiting, pid, instance, seconds):
    """Whether a program of 'rxe_dm show --json' waits for a program of another instance, for this time at least."""
    for device in shown["devices"]:
        for program in device["programs"]:
            if program["pid"] == waiting:
                return any(peer["pid"] == pid and peer["instance"] == instance and peer["stopped_s"] >= seconds
                           for peer in program.get("waits_for", []))
    return False


def other_instance(build):
    """The peer belongs to another instance, whose server publishes its device."""
    with Instance(build, "stopped_first") as first, Instance(build, "stopped_second") as second:
        port, name = free_port(), first.env["RXE_DM_INSTANCE"]
        server = first.serve([*WRITES, "-D", "5"], port)
        client = second.join([*WRITES, "-D", "5"], port, first)
        wait_traffic(second)
        with by_signal(server):
            until(lambda: waits_elsewhere(second.show(), client.pid, server.pid, name, STOP_S), "wait for another instance's program", 60)
            text = second.command("show").stdout
        if not re.search(rf"^  stopped: ib_write_bw\[{server.pid}\] of instance '{name}' \({first.address}\), for at least \d+ s; "
                         rf"waiting for it: ib_write_bw\[{client.pid}\]$", text, re.MULTILINE):
            raise Failure(f"rxe_dm show:\n{text}")
        both_end(server, client)


def rping_elsewhere(build):
    """A connection of librdmacm to another instance: the server is stopped between two answers."""
    with Instance(build, "stopped_first") as first, Instance(build, "stopped_second") as second:
        need_library(first)
        args = [*RPING, "-p", str(free_port()), "-a", first.address]
        server = first.start([*args, "-s"], title="rping (server)")
        server.wait_until(lambda: listens(first), "listener")
        client = second.start([*args, "-c"], title="rping (client)")
        client.wait_until(lambda: sent(second) > 200, "traffic")
        stop_in_wait(first, server, lambda: waits_elsewhere(second.show(), client.pid, server.pid, first.env["RXE_DM_INSTANCE"], 0))
        server.kill(signal.SIGCONT)
        for program in (client, server):
            if program.wait(60) != 0:
                raise Failure(f"{program.title}: exit {program.process.returncode}")


def listeners(instance):
    return sum(one["state"] == "listening" for one in instance.show().get("rdma_ids", []))


def exchanges(instance):
    """Stops a listener before a client connects, and the server of a connection before its client exits. Rules count the REQs and
    DREQs that are sent again. Returns the programs: both that are stopped, and the client that connects."""
    need_library(instance)
    servers, common = [], []
    for _ in range(2):
        common.append(["rping", "-a", instance.address, "-p", str(free_port())])
        server = instance.start([*common[-1], "-s"], title="rping (server)")
        server.wait_until(lambda: listeners(instance) > len(servers), "listener")
        servers.append(server)
    leaving = instance.start([*common[0], "-c"], title="rping that leaves")
    leaving.wait_until(lambda: sent(instance) > 200, "traffic")
    add(instance, "cm_drop message=REQ dir=out nth=2..99", "cm_drop message=DREQ dir=out nth=2..99")
    for server in servers:
        server.kill(signal.SIGSTOP)
    leaving.kill()
    return servers, instance.start([*common[1], "-c", "-C", "1"], title="rping that joins")


def connections(build):
    """The timers of a REQ and a DREQ stand still while the program that must answer is stopped. With 'lose' they do not: both are sent
    again by the time at which that is judged."""
    with Instance(build, "stopped_cm") as instance, Instance(build, "stopped_cm_lose", stopped="lose") as loser:
        servers, joining = exchanges(instance)
        others, _ = exchanges(loser)
        until(lambda: all(fired(loser)), "second REQ and DREQ where peers do not wait", 60)
        if any(fired(instance)):
            raise Failure("a REQ or DREQ was sent again to a stopped program")
        for one in (instance, loser):
            one.command("fault", "clear")
        for server in servers + others:
            server.kill(signal.SIGCONT)
        if joining.wait(60) != 0 or servers[1].wait(60) != 0:
            raise Failure("the connection to a listener that was stopped has failed")
        servers[0].wait_for_line("DISCONNECT EVENT", 60)


def program_of(lab, node, name):
    """The number of a node's program, as the lab sees it; None: it has no device yet."""
    return next((program["pid"] for program in lab.device(node)["programs"] if program["comm"] == name and program["qps"]), None)


def lab_node(build, mode):
    """A program of one node is stopped, as by a debugger there; its peer is on another node."""
    with Lab(build, "two_hosts", mode) as lab:
        # Six commands of the lab come before the stop: on a busy machine they take seconds.
        port = free_port()  # nodes without namespaces share the host's
        args = [*WRITES, "-D", "20", "-p", str(port)]
        server = lab.start("a", *args)
        server.wait_until(lambda: lab.listens("a", port), "a listener on a")
        client = lab.start("b", *args, lab.address("a"))
        client.wait_until(lambda: lab.device("b")["counters"]["sent_pkts"] > 1000, "traffic")
        pid, waiting = (program_of(lab, node, "ib_write_bw") for node in "ab")
        lab.need("exec", "a", "kill", "-STOP", str(pid))
        try:
            until(lambda: waits_elsewhere(json.loads(lab.need("show", "--json"))["nodes"]["b"], waiting, pid, "two_hosts.a", STOP_S),
                  "wait for a program of node a", 60)
        finally:
            lab.need("exec", "a", "kill", "-CONT", str(pid))
        both_end(server, client)


# Two ranks exchange messages while a file exists.
EXCHANGE = """
from mpi4py import MPI
import os, sys
world, go = MPI.COMM_WORLD, True
sent, got = bytes([world.rank]) * 100000, bytearray(100000)
while go:
    world.Sendrecv(sent, 1 - world.rank, recvbuf=got, source=1 - world.rank)
    go = world.bcast(os.path.exists(sys.argv[1]), 0)
print("rank agrees" if got == bytes([1 - world.rank]) * 100000 else "rank has other bytes")
"""
TRIES = 40


def comes_to_wait(instance, pid, waiting):
    """Whether the programs wait for the stopped one, soon after their first ACK timeout."""
    with contextlib.suppress(Failure):
        until(lambda: (stopped(instance, pid) or {}).get("waiting") == waiting, "wait", 0.1)
        return True
    return False


def ranks(instance):
    return [program["pid"] for device in instance.show()["devices"] for program in device["programs"] if program["qps"]]


def openmpi(build):
    """One of two ranks over UCX, whose queue pairs give up after eight times 0.27 s. A rank that is stopped in its turn leaves the other
    one without a request that waits: then it runs on, and is stopped again."""
    if not os.path.isdir("/usr/lib/python3/dist-packages/mpi4py"):
        raise Skip("python3-mpi4py is not installed")
    with Instance(build, "stopped_mpi") as instance, tempfile.TemporaryDirectory() as folder:
        env = mpi.environment(folder, {**mpi.OVER_UCX, "UCX_RC_VERBS_TIMEOUT": "200ms"})
        go = os.path.join(folder, "go")
        with open(go, "w", encoding="ascii"):
            pass
        job = instance.start(["mpirun", "-n", "2", PYTHON, "-c", EXCHANGE, go], env=env)
        job.wait_until(lambda: len(ranks(instance)) == 2, "two ranks with queue pairs")
        wait_traffic(instance)
        first, second = ranks(instance)
        for _ in range(TRIES):
            os.kill(first, signal.SIGSTOP)
            try:
                if comes_to_wait(instance, first, [second]):
                    wait_stop(instance, first, [second])
                    break
            finally:
                os.kill(first, signal.SIGCONT)
        else:
            raise Failure(f"in none of {TRIES} stops rank {second} had something for rank {first}")
        os.unlink(go)
        if job.wait(60) != 0 or job.text().count("agrees") != 2:
            raise Failure(job.text())


CASES = {
    "stopped_write_bw": functools.partial(target, name="write_bw", args=[*WRITES, "-D", "8"], stop=by_signal),
    "stopped_read_bw": functools.partial(target, name="read_bw", args=["ib_read_bw", *WRITES[1:], "-D", "8"], stop=by_signal),
    "stopped_answers": answers,
    "stopped_memory_link": functools.partial(target, name="memory", args=[*WRITES, "-D", "8"], stop=by_signal, link="memory"),
    "stopped_by_debugger": functools.partial(target, name="debugger", args=[*WRITES, "-D", "15"], stop=by_debugger),
    "stopped_by_freezer": functools.partial(target, name="freezer", args=[*WRITES, "-D", "8"], stop=by_freezer),
    "stopped_ethernet_link": on_interface,
    "stopped_rping": functools.partial(connected, args=RPING, bind=["-s", "-a"], join=["-c", "-a"]),
    "stopped_rping_memory_link": functools.partial(connected, args=RPING, bind=["-s", "-a"], join=["-c", "-a"], link="memory"),
    "stopped_rsockets": functools.partial(connected, args=RSTREAM, bind=["-b"], join=["-s"]),
    "stopped_both": both,
    "stopped_connections": connections,
    "stopped_other_instance": other_instance,
    "stopped_rping_other_instance": rping_elsewhere,
    "stopped_lab_node": functools.partial(lab_node, mode="namespaces"),
    "stopped_lab_node_loopback": functools.partial(lab_node, mode="loopback"),
    "stopped_killed": killed,
    "stopped_openmpi": openmpi,
}
