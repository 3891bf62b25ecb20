# SPDX-License-Identifier: MIT
"""Packets that are lost beside the engine: `rxe_dm show` says how many, and whose."""

import os
import re
import signal
import subprocess
import sys

from cases_faults import add
from cases_veth import device as veth_device
from instance import Instance, free_port
from namespaces import Pair
from program import Failure, until

# Packets from a socket of the kernel: argv are address, QPN, bytes in all.
FLOOD = """
import socket, struct, sys
packet = struct.pack(">BBHII", 4, 0, 0xffff, int(sys.argv[2]), 0) + bytes(1000)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for _ in range(int(sys.argv[3]) // len(packet)):
        s.sendto(packet, (sys.argv[1], 4791))
"""


def device_of(instance):
    return instance.show()["devices"][0]


def flood(instance, address, qpn):
    """A command that sends twice what a receive buffer holds."""
    return [sys.executable, "-c", FLOOD, address, str(qpn), str(2 * device_of(instance)["receive_buffer"])]


def stopped(instance, port):
    """A program that takes nothing out of its socket."""
    program = instance.serve(["ibv_rc_pingpong", "-g", "0"], port)
    qpn = device_of(instance)["programs"][0]["qps"][0]["qpn"]
    program.kill(signal.SIGSTOP)
    return program, qpn


def need_lost(instance, program):
    """The program's, in JSON and in the table; and the device's, also when it has gone."""
    device = device_of(instance)
    lost = device["programs"][0]["counters"]["link_recv_drops"]
    if lost == 0 or device["counters"]["link_recv_drops"] < lost:
        raise Failure(f"a full buffer lost nothing: {device['programs'][0]}, {device['counters']}")
    table = instance.command("show").stdout
    if not re.search(rf"^ +\w+ +\d+ .* {lost}$", table, re.M) or f"link_recv_drops          {lost}" not in table:
        raise Failure(f"{lost} lost packets are not in the table:\n{table}")
    program.kill(signal.SIGKILL)
    program.wait(20)
    until(lambda: not device_of(instance)["programs"], "device without programs")
    if device_of(instance)["counters"]["link_recv_drops"] < lost:
        raise Failure(f"the device forgot what a program had lost that has gone: {device_of(instance)['counters']}")
    instance.run(["ibv_devices"])


def udp(build):
    with Instance(build, "lost_udp", allow_users="all") as instance:
        instance.command("start")
        program, qpn = stopped(instance, free_port())
        subprocess.run(flood(instance, instance.address, qpn), check=True, timeout=60)
        need_lost(instance, program)


def veth(build):
    with Pair() as pair, veth_device(build, "lost_veth", pair, 0) as here:
        here.command("start")
        program, qpn = stopped(here, free_port())
        pair.call(1, *flood(here, pair.free_address(0).split("/")[0], qpn))
        need_lost(here, program)


def port_down(build):
    """What a port that is down loses is counted, and so is a NAK that would not be true."""
    with Instance(build, "lost_down") as instance:
        instance.command("start")
        add(instance, "port_down")
        port = free_port()
        instance.serve(["ibv_rc_pingpong", "-g", "0"], port)
        instance.join(["ibv_rc_pingpong", "-g", "0"], port)
        until(lambda: device_of(instance)["counters"]["port_down_drops"], "lost packet")
        counters = device_of(instance)["counters"]
        if counters["rcvd_pkts"] or counters["link_recv_drops"]:
            raise Failure(f"packets arrived at a port that is down: {counters}")


def unanswered(build):
    """A NAK for a packet in the middle of what was lost would not be true: it goes on, and is counted."""
    with Instance(build, "lost_unanswered", linger=0) as instance:
        instance.command("start")
        add(instance, "drop dir=in opcode=SEND_FIRST nth=1", "nak code=psn_sequence dir=in opcode=SEND_MIDDLE,SEND_LAST nth=1")
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "20"])
        counters = device_of(instance)["counters"]
        if counters["fault_unanswered"] == 0:
            raise Failure(f"a NAK was sent that lied: {counters}")


def firewall(build):
    """What the kernel refuses to send is in rdma_rxe's counter for that."""
    with Pair() as pair, veth_device(build, "lost_wall", pair, 0, link="udp") as here:
        here.command("start")
        pair.call(0, "nft", "table inet wall {\n chain out {\n type filter hook output priority 0;\n udp dport 4791 drop\n}\n}\n")
        port = free_port()
        here.serve(["ibv_rc_pingpong", "-g", "0"], port)
        client = here.join(["ibv_rc_pingpong", "-g", "0"], port)
        until(lambda: device_of(here)["counters"]["send_err"], "packet that could not be sent")
        client.wait_until(lambda: "a firewall rule forbids it" in client.text(), "a word about the firewall")


def manual(_build):
    """rxe_dm(1) tells of each counter, and of no other."""
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    with open(os.path.join(root, "docs", "rxe_dm.1"), encoding="ascii") as f:
        section = re.search(r"^.SH COUNTERS\n(.*?)^.SH", f.read(), re.S | re.M).group(1)
    told = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", " ".join(re.findall(r"^\.BR? (.*_.*)", section, re.M))))
    known = set()
    for path in ("emu/engine.h", "lib/control/shared.h"):
        with open(os.path.join(root, *path.split("/")), encoding="ascii") as f:
            known |= set(re.findall(r"\bX\((\w+)\)", f.read())) - {"name"}
    if len(known) < 20 or told != known:
        raise Failure(f"rxe_dm(1) lacks {sorted(known - told)} and has {sorted(told - known)} too many")


CASES = {f"lost_{f.__name__}": f for f in (udp, veth, firewall, port_down, unanswered, manual)}
