# SPDX-License-Identifier: MIT
"""Many at once, and programs that die."""

import functools
import os
import re
import signal

from instance import Instance, free_port
from program import Failure, until

RETRY_EXCEEDED = 12  # IBV_WC_RETRY_EXC_ERR


def exactly_once(build):
    """1,000 sends, writes, reads and atomics on loopback, every byte checked."""
    with Instance(build, "exactly_once") as instance:
        program = os.path.join(build, "tests", "client", "exactly_once")
        server, client = instance.pair([program], timeout_s=120)
        need_all_intact(server + client)


def need_all_intact(text):
    for what in ("sends", "writes", "reads", "fetch-and-adds", "compare-and-swaps"):
        if not re.search(rf"\d+ {what} intact, each once", text):
            raise Failure(f"no word of the {what}")


def twenty_at_once(build):
    with Instance(build, "twenty") as instance:
        ports, servers = [], []
        while len(ports) < 20:
            port = free_port()
            if port not in ports:
                ports.append(port)
        for port in ports:
            servers.append(instance.start(["ibv_rc_pingpong", "-c", "-g", "0", "-p", str(port)]))
        for server, port in zip(servers, ports):
            server.wait_listening(port)
        clients = [instance.join(["ibv_rc_pingpong", "-c", "-g", "0"], port) for port in ports]
        for program in clients + servers:
            if program.wait(120) != 0:
                raise Failure(f"{program.title}: exit {program.process.returncode}")
        if leftovers(instance.show()):
            raise Failure(f"left behind: {leftovers(instance.show())}")


def leftovers(shown):
    """Queue pairs, regions and contexts that `rxe_dm show --json` still lists."""
    return {key: found for key in ("qps", "mrs", "contexts", "dms", "programs")
            for found in [deep_find(shown, key)] if found}


def deep_find(value, key):
    if isinstance(value, dict):
        if value.get(key):
            return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            found = deep_find(inner, key)
            if found:
                return found
    return None


def wait_clean(instance):
    until(lambda: not leftovers(instance.show()), "device without objects (rxe_dm show)")


def killed(build, name, args):
    """SIGKILL in the middle: the peer learns it from its retries, others do not notice, nothing is left.

    The peer is a program that always has a request under way: one that only waits for a message would wait forever, on
    any device."""
    with Instance(build, name) as instance:
        port, other = free_port(), free_port()
        # Long enough to be under way when the other is killed.
        messages = "2000" if os.environ.get("RXE_TEST_SANITIZER") else "20000"
        bystander = ["ibv_rc_pingpong", "-g", "0", "-c", "-n", messages]
        server = instance.serve(args, port)
        client = instance.join(args, port)
        wait_traffic(instance)
        other_server = instance.serve(bystander, other)
        other_client = instance.join(bystander, other)
        wait_traffic(instance)
        server.kill(signal.SIGKILL)
        if client.wait(60) == 0:
            raise Failure("the client did not notice that its peer was killed")
        if not re.search(rf"Failed status {RETRY_EXCEEDED}\b", client.text()):
            raise Failure("the client does not speak of status 12, retry exceeded")
        for program in (other_client, other_server):
            if program.wait(120) != 0:
                raise Failure("a bystander was hit")
        wait_clean(instance)


def wait_traffic(instance):
    """Until the counters have moved on: messages are moving."""
    before = sent(instance)
    until(lambda: sent(instance) > before + 100, "traffic in rxe_dm show --json")


def sent(instance):
    return sum(all_values(instance.show(), "sent_pkts"))


def all_values(value, key):
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key and isinstance(inner, int):
                yield inner
            else:
                yield from all_values(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from all_values(inner, key)


def short_lives(build):
    """Programs that live for one message, one after another; some end by a signal on their way. They leave nothing in the server.
    RXE_TEST_PROGRAMS: how many."""
    count = os.environ.get("RXE_TEST_PROGRAMS", "200")
    with Instance(build, "short_lives", slots=8) as instance:
        program = os.path.join(build, "tests", "client", "short_lives")
        instance.run([program, "60"])
        server = instance.server_pid()
        before = held(instance, server)
        print(instance.run([program, count], timeout_s=10 + int(count)))
        wait_clean(instance)
        print(f"the server holds {held(instance, server)}, and held {before}")
        # A little less is left when the last TIME_WAIT is over.
        until(lambda: not grown(before, held(instance, server)), "server that holds no more than before")


# Keys and handles are random: the pages of their tables are touched one after another, 6 MiB at most.
MAY_GROW = {"heap KiB": 12, "shared KiB": 6144}


def grown(before, after):
    return [what for what, value in after.items() if value > before[what] + MAY_GROW.get(what, 0)]


def held(instance, server):
    """What a leak would be found in: descriptors, memory, files and names."""
    name = instance.env["RXE_DM_INSTANCE"]
    descriptors = [f"/proc/{server}/fd/{fd}" for fd in os.listdir(f"/proc/{server}/fd")]
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as f:
        names = sum(name in line for line in f)
    with open(f"/proc/{server}/smaps", encoding="utf-8") as f:
        heap = re.search(r"\[heap\]\n.*?^Rss: +(\d+) kB", f.read(), re.MULTILINE | re.DOTALL)
    return {"descriptors": len(descriptors), "heap KiB": int(heap.group(1)),
            "shared KiB": sum(os.stat(fd).st_blocks for fd in descriptors if "memfd:rxe_dm shared" in link_of(fd)) // 2,
            "files in /dev/shm": sum(name in file for file in os.listdir("/dev/shm")), "socket names": names}


def link_of(descriptor):
    try:
        return os.readlink(descriptor)
    except FileNotFoundError:  # closed meanwhile
        return ""


def stopped_device_server(build):
    """The device goes while programs use it: they end with an error, they do not hang."""
    with Instance(build, "stopped") as instance:
        port = free_port()
        args = ["ibv_rc_pingpong", "-g", "0", "-n", "100000000"]
        server = instance.serve(args, port)
        client = instance.join(args, port)
        wait_traffic(instance)
        instance.command("stop")
        for program in (client, server):
            if program.wait(60) == 0:
                raise Failure(f"{program.title}: the device has gone and it did not notice")


CASES = {
    "exactly_once": exactly_once,
    "twenty_at_once": twenty_at_once,
    "killed_receiver": functools.partial(killed, name="killed_receiver",
                                         args=["ib_send_bw", "-F", "-x", "0", "-D", "240", "-u", "14"]),
    "killed_target": functools.partial(killed, name="killed_target",
                                       args=["ib_write_bw", "-F", "-x", "0", "-D", "240", "-u", "14"]),
    "short_lives": short_lives,
    "stopped_device_server": stopped_device_server,
}
