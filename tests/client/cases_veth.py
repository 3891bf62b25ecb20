# SPDX-License-Identifier: MIT
"""Devices on an interface: two namespaces joined by a veth pair, a device with a MAC and an address of its own in one, and in
the other either such a device or one on the kernel's UDP sockets. Needs root."""

import functools
import os
import re
import signal
import sys
import tempfile

from capture import decode
from cases_perftest import RAW_MACS, TROUBLE, raw_pair
from cases_server import NOBODY, need_line, need_reachable
from cases_trouble import all_values, need_all_intact, wait_clean, wait_traffic
from instance import Instance, free_port
from namespaces import Pair
from program import Failure, Program, until

LINKS = [("ethernet", "ethernet"), ("ethernet", "udp"), ("udp", "ethernet")]
PINGPONGS = ["ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong"]
MAC = r"02:52:[0-9a-f:]{11}"


def device(build, name, pair, side, link="ethernet", v6=False, address=None, prefix=(), **settings):
    """An instance whose programs run on that side of the pair."""
    if link == "ethernet":
        address = address or (pair.free_address6(side) if v6 else pair.free_address(side))
        settings = dict(settings, link="ethernet", interface=pair.device(side))
    else:
        address = pair.address6(side) if v6 else pair.address(side)
    return Instance(build, f"{name}{side}", address, pair.address(side),
                    pair.prefix(side) + list(prefix), **settings)


def over_links(build, name, use, v6=False, loss_percent=0, mtu=1500):
    """use(here, there, pair) for each way to put two links across; what is lost is lost by the kernel, at the UDP side."""
    for links in LINKS:
        lossy = [side for side in range(2) if links[side] == "udp"]
        if loss_percent and not lossy:
            continue
        with Pair(loss_percent, mtu, lossy) as pair, \
                device(build, name, pair, 0, links[0], v6) as here, \
                device(build, name, pair, 1, links[1], v6) as there:
            print(f"server on {links[0]}, client on {links[1]}", flush=True)
            use(here, there, pair)
            for side in lossy if loss_percent else []:
                print(f"dropped: {pair.dropped(side)}")
                if pair.dropped(side) == 0:
                    raise Failure("nothing was dropped: the test tested nothing")


def pingpongs(build, v6):
    def use(here, there, _pair):
        for program in PINGPONGS:
            # Only RC and SRQ check what they got: UC and UD receive into one buffer again and again.
            check = ["-c"] if program in ("ibv_rc_pingpong", "ibv_srq_pingpong") else []
            here.pair([program, "-g", "0", *check], peer=there)
        here.pair(["ibv_rc_pingpong", "-c", "-e", "-j", "-s", "200000", "-g", "0"], peer=there)
        need_strict(here, there)
    over_links(build, "vp6" if v6 else "vp4", use, v6)


def need_strict(*instances):
    for instance in instances:
        for counter in ("rcvd_bad_icrc", "rcvd_malformed", "retry_exceeded_err"):
            for value in all_values(instance.show(), counter):
                if value:
                    raise Failure(f"{counter} is {value}")


def perftest(build, programs, v6=False):
    def use(here, there, _pair):
        for args in programs:
            for text in here.pair(args + ["-F", "-x", "0"], peer=there, timeout_s=120):
                if TROUBLE.search(text):
                    raise Failure(f"{' '.join(args)}: '{TROUBLE.search(text).group(0)}'")
            need_strict(here, there)
    over_links(build, "vperf", use, v6, mtu=9000)


RC_TESTS = [["ib_write_bw", "-s", "65536", "-n", "1000"], ["ib_write_lat", "-n", "500"],
            ["ib_read_bw", "-s", "65536", "-n", "500"], ["ib_read_lat", "-n", "500"],
            ["ib_send_bw", "-b", "-n", "1000"], ["ib_send_lat", "-e", "-n", "500"],
            ["ib_atomic_bw", "-n", "1000"], ["ib_atomic_lat", "-A", "CMP_AND_SWAP", "-n", "500"]]
OTHER_TESTS = [["ib_send_lat", "-c", "UD", "-n", "500"],
               ["ib_send_bw", "-c", "UD", "-s", "1024", "-n", "1000"],
               ["ib_write_lat", "-c", "UC", "-n", "500"], ["ib_write_bw", "-q", "8", "-n", "300"]]


# The pingpongs end without a word to their peer: when the last ACK is lost, the server says it again.
LOSSY_TESTS = [[*args, "-F", "-x", "0"] for args in (
    ["ib_write_bw", "-s", "65536", "-n", "100"], ["ib_write_lat", "-n", "200"],
    ["ib_read_bw", "-s", "65536", "-n", "100"], ["ib_read_lat", "-n", "200"],
    ["ib_send_bw", "-s", "8192", "-n", "200"], ["ib_send_lat", "-n", "200"],
    ["ib_atomic_bw", "-n", "200"], ["ib_atomic_lat", "-n", "200"])] + [
        [program, "-c", "-g", "0", "-n", "200"] for program in ("ibv_rc_pingpong", "ibv_srq_pingpong")]


def lossy(build, loss_percent):
    """perftest's RC programs, while the kernel at the UDP side loses packets."""
    def use(here, there, _pair):
        for args in LOSSY_TESTS:
            for text in here.pair(args, peer=there, timeout_s=120):
                if TROUBLE.search(text):
                    raise Failure(f"{' '.join(args)}: '{TROUBLE.search(text).group(0)}'")
        need_strict(here, there)
    over_links(build, "vlossy", use, loss_percent=loss_percent)


def exactly_once(build, loss_percent, v6=False):
    program = [os.path.join(build, "tests", "client", "exactly_once"), "-n", "500"]

    def use(here, there, _pair):
        need_all_intact("".join(here.pair(program, peer=there, timeout_s=200)))
        need_strict(here, there)
    over_links(build, "vonce", use, v6, loss_percent)


def decoded(build):
    """What tshark sees on the interface: RRoCE and nothing malformed, ARP and neighbor discovery answered."""
    for v6 in (False, True):
        with tempfile.TemporaryDirectory() as folder, Pair() as pair, \
                device(build, "vshark", pair, 0, "ethernet", v6) as here, \
                device(build, "vshark", pair, 1, "udp", v6, trains="off") as there:
            path = os.path.join(folder, "veth.pcapng")
            sniffer = start_sniffer(here, pair, path)
            for program in PINGPONGS:
                here.pair([program, "-g", "0"], peer=there)
            here.pair(["ib_read_bw", "-F", "-x", "0", "-n", "20"], peer=there)
            here.pair(["ib_atomic_bw", "-F", "-x", "0", "-n", "20"], peer=there)
            sniffer.kill(signal.SIGINT)
            sniffer.wait(30)
            need_sound(path, v6)
            need_header_fields(path, here.address.split("/")[0], v6, udp__checksum="0x0000")
            need_header_fields(path, there.address, v6, **({} if v6 else {"ip__id": "0x0000"}))


def start_sniffer(instance, pair, path):
    """dumpcap on this side's interface."""
    args = pair.prefix(0) + ["dumpcap", "-q", "-i", pair.device(0), "-w", path,
                             "-f", "udp port 4791 or arp or icmp6"]
    sniffer = Program("dumpcap", args, instance.env)
    instance.programs.append(sniffer)
    sniffer.wait_for_line("File: ")
    return sniffer


# What is the same in every packet of ours, as tshark names and prints it (docs/INTEROP.md). perftest asks for 255 hops.
SAME_IN_ALL = {"udp.dstport": "4791", "infiniband.bth.p_key": "65535", "infiniband.bth.m": "1",
               "infiniband.bth.tver": "0", "infiniband.bth.reserved7": "0"}
SAME_V4 = {"ip.flags": "0x02", "ip.ttl": "64|255", "ip.hdr_len": "20"}
SAME_V6 = {"ipv6.hlim": "64|255"}


def need_header_fields(path, source, v6, **more):
    """Every RRoCE packet from that address has them; more: fields that depend on the link."""
    wanted = {**SAME_IN_ALL, **(SAME_V6 if v6 else SAME_V4),
              **{name.replace("__", "."): value for name, value in more.items()}}
    address = "ipv6.src" if v6 else "ip.src"
    rows = [row for row in decode(path, address, "infiniband.bth.opcode", *wanted)
            if row[0] == source and row[1]]
    for row in rows:
        found = dict(zip(wanted, row[2:]))
        if not all(re.fullmatch(wanted[name], found[name]) for name in wanted):
            raise Failure(f"{source}: {found}, not {wanted}")
    if len(rows) < 500:
        raise Failure(f"only {len(rows)} packets from {source}")


def need_sound(path, v6):
    rows = decode(path, "frame.protocols", "_ws.malformed", "infiniband.bth.opcode",
                  "ip.checksum.status", "arp.opcode", "icmpv6.type")
    opcodes = [row[2] for row in rows if row[2]]
    asked = [row[5] if v6 else row[4] for row in rows]
    print(f"{len(rows)} frames, {len(opcodes)} of them RRoCE with {len(set(opcodes))} opcodes")
    if len(opcodes) < 500 or len(set(opcodes)) < 8:
        raise Failure("too few packets to speak of")
    for number, row in enumerate(rows, 1):
        if row[1] or row[3] == "0" or ("udp" in row[0] and "infiniband" not in row[0]):
            raise Failure(f"frame {number}: {row}")
    for kind in ("135", "136") if v6 else ("1", "2"):
        if kind not in asked:
            raise Failure(f"no neighbor solicitation and advertisement: {sorted(set(asked))}")


VERBS = ["verbs_rc", "verbs_ud", "verbs_share", "verbs_fork", "verbs_events", "verbs_errors",
         "verbs_srq", "verbs_dm", "verbs_threads", "verbs_control", "verbs_regions",
         "verbs_delayed_ack"]


def verbs(build, name, v6=False):
    """The programs of the public verbs: all that holds for a device holds for this one."""
    with Pair(mtu=9000) as pair, device(build, name, pair, 0, v6=v6) as instance:
        instance.run([os.path.join(build, "tests", "client", name)], timeout_s=240,
                     env={"RXE_TEST_COMMAND": instance.command_path})


def killed(build):
    """SIGKILL: its peer's retries run out, nothing is left behind, and the next one works."""
    with Pair() as pair, device(build, "vkill", pair, 0) as here, \
            device(build, "vkill", pair, 1) as there:
        port = free_port()
        args = ["ib_write_bw", "-F", "-x", "0", "-D", "240", "-u", "14"]
        server = here.serve(args, port)
        client = there.join(args, port, here)
        wait_traffic(there)
        server.kill(signal.SIGKILL)
        if client.wait(60) == 0:
            raise Failure("the client did not notice that its peer was killed")
        wait_clean(here)
        here.pair(["ibv_rc_pingpong", "-c", "-g", "0"], peer=there)


def stopped(build):
    """The device goes while programs use it: they end; and a new server has the same address at once."""
    with Pair() as pair, device(build, "vstop", pair, 0) as here:
        args, port = ["ibv_rc_pingpong", "-g", "0", "-n", "100000000"], free_port()
        programs = [here.serve(args, port), here.join(args, port)]
        wait_traffic(here)
        first = here.server_pid()
        here.command("stop")
        for program in programs:
            if program.wait(60) == 0:
                raise Failure(f"{program.title}: the device has gone and it did not notice")
        here.pair(["ibv_rc_pingpong", "-c", "-g", "0"])
        if here.server_pid() == first:
            raise Failure("the first server did not go")


def gateway(build):
    """A peer in another network, behind the address at the pair's other end; without a gateway it is refused, in words."""
    for v6, far, net in ((False, "10.78.0.1", "/32"), (True, "fd78::1", "/128")):
        via = (Pair.address6 if v6 else Pair.address)
        with Pair() as pair, device(build, "vgate", pair, 0, v6=v6, gateway=via(pair, 1)) as here:
            pair.call(1, "ip", "address", "add", far + net, "dev", "lo")
            pair.wait_link_local(1)
            with Instance(build, "vfar", far, pair.address(1), pair.prefix(1)) as there:
                here.pair(["ibv_rc_pingpong", "-c", "-g", "0"], peer=there)
                there.pair(["ibv_ud_pingpong", "-g", "0"], peer=here)
                with device(build, "vstay", pair, 0, v6=v6, address=alone(pair, v6)) as lost:
                    lost_without_gateway(lost, there)


def alone(pair, v6):
    return pair.free_address6(0).replace(":10/", ":19/") if v6 else pair.free_address(0, 9)


def lost_without_gateway(lost, there):
    port = free_port()
    there.serve(["ibv_rc_pingpong", "-g", "0"], port)
    client = lost.start(["ibv_rc_pingpong", "-p", str(port), "-g", "0", there.peer_name],
                        env={"VERBS_LOG_LEVEL": "2"})
    if client.wait(60) == 0 or "no gateway is known" not in client.text():
        raise Failure(f"it says nothing of a gateway: {client.text()}")


def packet_sockets(pair):
    return len(pair.call(0, "cat", "/proc/net/packet").splitlines())


def neighbors(build):
    """Two instances on one interface are two hosts; two devices of one instance as well. What a server opens for the TIME_WAIT of a
    program lasts no longer than that."""
    with Pair() as pair, device(build, "vnext", pair, 0) as here, \
            device(build, "vother", pair, 0, address=pair.free_address(0, 1)) as there:
        here.command("start")
        there.command("start")
        before = packet_sockets(pair)
        here.pair(["ibv_rc_pingpong", "-c", "-g", "0"], peer=there)
        there.pair(["ibv_ud_pingpong", "-g", "0"], peer=here)
        until(lambda: packet_sockets(pair) == before, "end of TIME_WAIT")
    with Pair() as pair, \
            device(build, "vtwo", pair, 0, address=f"{pair.free_address(0)},{pair.free_address(0, 1)}") as both:
        both.pair(["ibv_rc_pingpong", "-c", "-g", "0", "-d", "rxe_dm0"],
                  ["ibv_rc_pingpong", "-c", "-g", "0", "-d", "rxe_dm1"])
        macs = set(re.findall(MAC, both.command("show").stdout))
        if len(macs) != 2:
            raise Failure(f"two devices, and these MACs: {macs}")


def ordinary_user(build):
    """The server has CAP_NET_RAW and nothing else, its programs have nothing."""
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    with Pair() as pair, device(build, "vuser", pair, 0, prefix=user) as here:
        need_reachable(here, build)
        refused = here.command("start")
        need_line(refused, "CAP_NET_RAW", pair.device(0))
        here.prefix = pair.prefix(0) + user + ["--inh-caps=+net_raw", "--ambient-caps=+net_raw"]
        if here.command("start").returncode != 0:
            raise Failure("no server, with CAP_NET_RAW")
        here.prefix = pair.prefix(0) + user
        here.pair(["ibv_rc_pingpong", "-c", "-g", "0"])
        with device(build, "vuser", pair, 1, "udp") as there:
            here.pair(["ibv_rc_pingpong", "-c", "-g", "0"], peer=there)


def quiet(pair):
    """No frames but the test's: the kernels of both sides would solicit routers and neighbors."""
    for side in range(2):
        pair.call(side, "sh", "-c", f"echo 1 > /proc/sys/net/ipv6/conf/{pair.device(side)}/disable_ipv6")


# Sends 100 bytes and 2000 bytes to a queue pair, without the DF bit: a datagram, and one in two fragments. The first fragment has
# the queue pair's number; the filter of the device's socket passes no other.
BAD_FRAMES = """import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER, IP_PMTUDISC_DONT
for size in (100, 2000):
    s.sendto((bytes(5) + bytes.fromhex(sys.argv[2])).ljust(size), (sys.argv[1], 4791))
"""


def bad_frames(build):
    """Each malformed frame to a queue pair is counted once, and stops nobody."""
    with Pair() as pair, device(build, "vbad", pair, 0) as here, device(build, "vgood", pair, 1, "udp") as there:
        port = free_port()
        args = ["ibv_rc_pingpong", "-c", "-g", "0"]
        server = here.serve(args, port)
        [qpn] = all_values(here.show(), "qpn")
        pair.call(1, sys.executable, "-c", BAD_FRAMES, here.address.split("/")[0], f"{qpn:06x}")
        until(lambda: set(all_values(here.show(), "link_bad_frames")) == {2}, "2 bad frames")
        for program in (there.join(args, port, here), server):
            if program.wait(60) != 0:
                raise Failure(f"{program.title} failed")
        need_strict(here, there)
        counted = set(all_values(here.show(), "link_bad_frames"))
        if counted != {2}:
            raise Failure(f"link_bad_frames: {counted}, expected 2")


def raw_programs(build):
    """Raw queue pairs on an interface, of one device: the tests of the private wire hold there, too."""
    with Pair(mtu=4200) as pair, device(build, "vraw", pair, 0) as here:
        quiet(pair)
        for name in ("verbs_raw", "verbs_flow", "verbs_counters"):
            here.run([os.path.join(build, "tests", "client", name)], timeout_s=240)


def raw_perftest(build):
    """perftest's raw programs between two hosts. Nothing but frames passes between its two sides."""
    with Pair() as pair, device(build, "vrawp", pair, 0) as here, device(build, "vrawp", pair, 1) as there:
        quiet(pair)
        for program in ("raw_ethernet_lat", "raw_ethernet_bw"):
            raw_pair(here, there, program)


def raw_and_kernel(build):
    """A program of raw packets answers UDP datagrams of the other host's kernel, whose checksums are of the kernel's sort."""
    with Pair() as pair, device(build, "vecho", pair, 0) as here:
        echo = here.start([os.path.join(build, "tests", "client", "raw_echo"), "7777", "3"])
        echo.wait_for_line("ready")
        pair.call(1, "ip", "neigh", "replace", f"{pair.address(0)[:-1]}77", "lladdr", RAW_MACS[0], "dev", pair.device(1))
        pair.call(1, sys.executable, "-c", """import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(100)
s.connect((sys.argv[1], 7777))
for n in (1, 500, 1472):
    s.send((bytes(range(256)) * 6)[:n])
    assert len(s.recv(2000)) == n
""", f"{pair.address(0)[:-1]}77")
        if echo.wait(60) != 0 or echo.text().count("checksums good") != 3 or "1514 bytes" not in echo.text():
            raise Failure(f"the echo says: {echo.text()}")


def raw_refused(build):
    """Without CAP_NET_RAW: EPERM, and a line that says why. The device itself needs none in its programs."""
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    with Pair() as pair, device(build, "vrawno", pair, 0) as here:
        here.prefix = pair.prefix(0) + user + ["--inh-caps=+net_raw", "--ambient-caps=+net_raw"]
        need_reachable(here, build)
        echo = [os.path.join(build, "tests", "client", "raw_echo"), "7777", "0"]
        here.start(echo, env={"VERBS_LOG_LEVEL": "2"}).wait_for_line("ready")
        here.prefix = pair.prefix(0) + user
        program = here.start(echo, env={"VERBS_LOG_LEVEL": "2"})
        if program.wait(60) == 0 or "need CAP_NET_RAW" not in program.text():
            raise Failure(f"it says nothing of the capability: {program.text()}")


def refused(build):
    """What cannot be: one line each, that says what to do."""
    with Pair() as pair, device(build, "vno", pair, 0) as here:
        def need(*words, **settings):
            before = dict(here.env)
            here.env.update({f"RXE_DM_{key.upper()}": value for key, value in settings.items()})
            need_line(here.command("start"), *words)
            here.env = before
        need("no interface rxe_nowhere", "ip link", interface="rxe_nowhere")
        need("not an Ethernet interface", interface="lo")
        need("kernel already", "RXE_DM_ADDRESS", address=pair.address(0))
        need("RXE_DM_LINK", "RXE_DM_LINK", link="token-ring")
        need("has no use for", "--link ethernet", link="udp")
        need("RXE_DM_GATEWAY", "RXE_DM_GATEWAY", gateway="fd77::1")
        pair.call(0, "ip", "link", "set", pair.device(0), "mtu", "200")
        need("MTU of rxe_va", "ip link set rxe_va mtu")
        pair.call(0, "ip", "link", "set", pair.device(0), "down")
        need("is down", "ip link set rxe_va up")


def heard(pair, here):
    """Does anybody answer for the device's address? Asked from the other side."""
    address = here.address.split("/")[0]
    pair.call(1, "ip", "neigh", "flush", "all")
    pair.call(1, sys.executable, "-c", "import socket, sys; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'?', (sys.argv[1], 9))",
              address)
    answer = functools.partial(pair.call, 1, "ip", "neigh", "show", address)
    until(lambda: re.search("lladdr|FAILED", answer()), "end of the search for a neighbor")
    return "lladdr" in answer()


def carrier(build):
    """The interface's state is the port's, and programs hear of it; a port that a rule takes down answers nobody."""
    with Pair() as pair, device(build, "vcarrier", pair, 0) as here:
        def need_port(state):
            until(lambda: here.show()["devices"][0]["port_state"] == state, f"port that is {state}")
        watch = here.start(["stdbuf", "-oL", "ibv_asyncwatch"])
        watch.wait_for_line(r"rxe_dm0: async event FD \d+")
        need_port("ACTIVE")
        if not heard(pair, here):
            raise Failure("nobody answers for the device")
        for command, state, event in (("down", "DOWN", "PORT_ERR"), ("up", "ACTIVE", "PORT_ACTIVE")):
            pair.call(0, "ip", "link", "set", pair.device(0), command)
            need_port(state)
            watch.wait_for_line(rf"event_type.*{event}")
        here.command("fault", "add", "port_down")
        need_port("DOWN")
        if heard(pair, here):
            raise Failure("a port that is down answers for its address")
        here.command("fault", "clear")
        need_port("ACTIVE")
        if not heard(pair, here):
            raise Failure("nobody answers for a port that is up again")
        pair.call(1, "ip", "link", "set", pair.device(1), "down")  # no carrier
        need_port("DOWN")
        pair.call(0, "ip", "link", "del", pair.device(0))
        need_port("DOWN")


def shown(build):
    """rxe_dm show tells link, interface and MAC; the interface's MTU is the device's."""
    for mtu, active in ((1500, 1024), (9000, 4096), (600, 512)):
        with Pair(mtu=mtu) as pair, device(build, "vshow", pair, 0, gateway=pair.address(1)) as here:
            text = here.run(["ibv_devinfo", "-v"])
            if not re.search(rf"active_mtu:\s+{active} ", text):
                raise Failure(f"active_mtu is not {active}:\n{text}")
            table = here.command("show").stdout
            if not re.search(rf"link ethernet: frames on rxe_va, MAC {MAC}, network /24, gateway "
                             rf"{re.escape(pair.address(1))}", table):
                raise Failure(f"rxe_dm show does not tell the link:\n{table}")
            listed = here.show()["devices"][0]
            if listed["link"] != "ethernet" or listed["interface"] != "rxe_va" or listed["mac"] not in table:
                raise Failure(f"rxe_dm show --json: {listed}")


CASES = {
    "vethdev_pingpongs": functools.partial(pingpongs, v6=False),
    "vethdev_pingpongs_ipv6": functools.partial(pingpongs, v6=True),
    "vethdev_perftest_rc": functools.partial(perftest, programs=RC_TESTS),
    "vethdev_perftest_rc_ipv6": functools.partial(perftest, programs=RC_TESTS, v6=True),
    "vethdev_perftest_other": functools.partial(perftest, programs=OTHER_TESTS),
    "vethdev_exactly_once": functools.partial(exactly_once, loss_percent=0),
    "vethdev_exactly_once_loss": functools.partial(exactly_once, loss_percent=1),
    "vethdev_exactly_once_loss_ipv6": functools.partial(exactly_once, loss_percent=1, v6=True),
    "vethdev_loss_1": functools.partial(lossy, loss_percent=1),
    "vethdev_loss_5": functools.partial(lossy, loss_percent=5),
    "vethdev_exactly_once_loss_5": functools.partial(exactly_once, loss_percent=5),
    "vethdev_tshark": decoded,
    "vethdev_killed": killed,
    "vethdev_stopped_server": stopped,
    "vethdev_gateway": gateway,
    "vethdev_neighbors": neighbors,
    "vethdev_ordinary_user": ordinary_user,
    "vethdev_bad_frames": bad_frames,
    "vethdev_refused": refused,
    "vethdev_raw": raw_programs,
    "vethdev_raw_perftest": raw_perftest,
    "vethdev_raw_and_kernel": raw_and_kernel,
    "vethdev_raw_refused": raw_refused,
    "vethdev_show": shown,
    "vethdev_carrier": carrier,
    **{f"vethdev_{name}": functools.partial(verbs, name=name) for name in VERBS},
    "vethdev_verbs_ud_ipv6": functools.partial(verbs, name="verbs_ud", v6=True),
}
