# SPDX-License-Identifier: MIT
"""The memory link: programs of one device in shared memory. By hand, most cases run over it with RXE_TEST_LINK=memory."""

import errno
import functools
import os
import re
import socket
import signal
import sys

import cases_fabrics
import cases_faults
import cases_rdmacm
import cases_rsocket
import cases_trouble
from cases_capture import counters, device_with_capture
from cases_faults import add, fired
from cases_perftest import perftest
from cases_pingpong import pingpong
from cases_rdmacm import need_library, run_pair
from cases_server import need_line
from cases_trouble import killed, wait_clean
from cases_verbs import verbs
from instance import Instance, free_port, search_path
from namespaces import need_tools, own_namespace
from program import Failure, Program

RPING = ["rping", "-a", "{address}", "-p", "{port}", "-C", "10", "-V"]


def no_network(build):
    """A namespace in which not even the loopback interface is up."""
    need_tools(0)
    holder = Program("namespace", ["unshare", "-n", "sleep", "900"], dict(os.environ, PATH=search_path()))
    try:
        holder.wait_until(lambda: own_namespace(holder.pid), "a network namespace")
        with Instance(build, "memory_alone", prefix=["nsenter", "-t", str(holder.pid), "-n"], link="memory") as instance:
            need_library(instance)
            run_pair(instance, RPING + ["-s"], RPING + ["-c"])
            shown = instance.show()["devices"][0]
            if shown["link"] != "memory" or not shown["counters"]["rcvd_pkts"]:
                raise Failure("the packets took another way")
    finally:
        holder.end()
        holder.log.close()


def no_sockets(build):
    """Server and programs may open no socket but local ones."""
    filtered = [sys.executable, "-B", os.path.join(os.path.dirname(__file__), "no_sockets.py")]
    with Instance(build, "memory_filtered", prefix=filtered, link="memory") as instance:
        instance.run([sys.executable, "-c", "import socket; socket.socket()"], expect=1)
        instance.run([os.path.join(build, "tests", "client", "verbs_xrc")])


def busy_port(build):
    """UDP port 4791 of the address is somebody else's. The device's lock of the address still counts."""
    with Instance(build, "memory_busy", link="memory") as instance, \
            Instance(build, "memory_other", link="memory", address=instance.address) as other, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((instance.address, 4791))
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "100"])
        need_line(other.command("start"), re.escape(instance.address), "in use")


def captured(build):
    """Captures have every packet once, with its ICRC, though none travels with one."""
    with device_with_capture(build, "memory_capture", link="memory") as (instance, taken):
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "100"])
        packets, missed = taken.end()
        good = sum(packet.icrc_is_good() for packet in taken.packets())
        sent = counters(instance)["sent_pkts"]
        print(f"{packets} captured, {missed} missed, {good} with a good ICRC, {sent} sent")
        if not packets == sent == good or missed:
            raise Failure("the capture and sent_pkts differ")


RULES = ["drop opcode=RC_SEND_* every=41", "corrupt part=payload every=57", "corrupt part=icrc dir=in every=43",
         "duplicate every=31", "reorder every=37", "delay time=1ms every=101"]


def faults(build):
    """All that a network does wrong, on both sides of it; corrupt packets are found although ICRCs are off."""
    with Instance(build, "memory_faults", link="memory") as instance:
        instance.command("start")
        add(instance, *RULES)
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-c", "-n", "400"])
        times, bad = fired(instance), counters(instance)["rcvd_bad_icrc"]
        print(times, bad)
        if not all(times) or not bad:
            raise Failure("a rule never fired, or no corrupt packet was found")


def checked(build):
    """With --icrc on packets are checked."""
    with Instance(build, "memory_checked", link="memory", icrc="on") as instance:
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-c", "-n", "300"])
        shown = instance.command("show").stdout
        if "ICRC on" not in shown or counters(instance)["rcvd_bad_icrc"]:
            raise Failure("ICRCs are off, or bad")


def stopped(build):
    """A pair goes on beside a peer that is stopped in the middle, and the stopped one's packets wait for nobody."""
    with Instance(build, "memory_stopped", link="memory") as instance:
        args, port = ["ib_write_bw", "-F", "-x", "0", "-D", "60", "-s", "65536"], free_port()
        server, client = instance.serve(args, port), instance.join(args, port)
        client.wait_until(lambda: counters(instance)["rcvd_pkts"] > 5000, "traffic")
        server.kill(signal.SIGSTOP)
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-c", "-n", "200"])
        server.kill(signal.SIGKILL)
        client.kill(signal.SIGKILL)
        server.wait(20)
        client.wait(20)
        wait_clean(instance)


def over_memory(function, **more):
    """A case of another module, over this link."""
    def run(build):
        before = os.environ.get("RXE_TEST_LINK")
        os.environ["RXE_TEST_LINK"] = "memory"
        try:
            function(build, **more)
        finally:
            os.environ.pop("RXE_TEST_LINK")
            if before:
                os.environ["RXE_TEST_LINK"] = before
    return run


def ended_in_use(build):
    """The server ends well while a program has the device."""
    with Instance(build, "memory_ended", link="memory") as instance:
        server = Program("server", [instance.command_path, "start", "--foreground"], instance.env)
        instance.programs.append(server)
        server.wait_until(lambda: "rxe_dm0 at" in server.text(), "a device")
        instance.serve(["ibv_rc_pingpong", "-g", "0"], free_port())
        instance.command("stop")
        if server.wait(20) != 0:
            raise Failure(f"the server ended with {server.process.returncode}: {server.text()}")


def without_steering(build):
    """Where the kernel cannot steer UDP sockets the packets go by memory, and everybody is told; who asks for UDP is refused."""
    refusing = os.path.join(build, "tests", "client", "without_steering")
    for error in errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.EPERM:
        with Instance(build, "without_steering", prefix=[refusing, str(error)]) as instance:
            instance.env.pop("RXE_DM_LINK", None)
            started = instance.command("start")
            if started.returncode or "refuses SO_ATTACH_REUSEPORT_CBPF" not in started.stderr:
                raise Failure(f"start: {started.returncode}, {started.stderr}")
            if "this kernel or sandbox cannot steer" not in instance.command("show").stdout:
                raise Failure("show does not tell why the link is memory")
            shown = instance.show()["devices"][0]
            if shown["link"] != "memory" or not shown["link_fallback"]:
                raise Failure(f"the link is {shown['link']}, fallback {shown.get('link_fallback')}")
            if error == errno.ENOPROTOOPT:
                instance.pair(["ibv_rc_pingpong", "-c", "-g", "0"])
            instance.command("stop")
            need_line(instance.command("start", "--link", "udp"), "cannot have UDP sockets", "--link memory")
            instance.env["RXE_DM_ADDRESS"] = "192.0.2.1"
            need_line(instance.command("run", "--", "true"), "cannot have UDP sockets")


CASES = {
    "memory_without_steering": without_steering,
    "memory_ended_in_use": ended_in_use,
    "memory_no_network": no_network,
    "memory_no_sockets": no_sockets,
    "memory_busy_port": busy_port,
    "memory_capture": captured,
    "memory_faults": faults,
    "memory_icrc": checked,
    "memory_stopped": stopped,
    "memory_killed": over_memory(killed, name="memory_killed",
                                  args=["ib_write_bw", "-F", "-x", "0", "-D", "240", "-u", "14"]),
    "memory_pingpong_events": over_memory(pingpong, name="memory_events", args=["ibv_rc_pingpong", "-g", "0", "-c", "-e"]),
    "memory_pingpong_uc": over_memory(pingpong, name="memory_uc", args=["ibv_uc_pingpong", "-g", "0", "-c"]),
    "memory_pingpong_ud": over_memory(pingpong, name="memory_ud", args=["ibv_ud_pingpong", "-g", "0", "-c", "-s", "1000"]),
    "memory_write_bw": over_memory(perftest, name="memory_write_bw", args=["ib_write_bw", "-n", "1000"]),
    "memory_read_lat": over_memory(perftest, name="memory_read_lat", args=["ib_read_lat", "-n", "1000"]),
    "memory_atomic_bw": over_memory(perftest, name="memory_atomic_bw", args=["ib_atomic_bw", "-n", "1000"]),
    "memory_send_bw_ud": over_memory(perftest, name="memory_send_bw", args=["ib_send_bw", "-c", "UD", "-s", "1024", "-n", "1000"]),
}
for MODULE, NAME in ((cases_trouble, "exactly_once"), (cases_fabrics, "ucx_rc"),
                     (cases_rdmacm, "rdmacm_connect"), (cases_rsocket, "rsocket_stream")):
    CASES["memory_" + NAME] = over_memory(MODULE.CASES[NAME])
CASES["memory_fault_time_wait"] = over_memory(cases_faults.time_wait, many=[3])
for PROGRAM in ("verbs_rc", "verbs_ud", "verbs_delayed_ack", "verbs_closefrom", "verbs_fork", "verbs_xrc"):
    CASES["memory_" + PROGRAM] = over_memory(functools.partial(verbs, name=PROGRAM))
