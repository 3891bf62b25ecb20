# SPDX-License-Identifier: MIT
"""rxe_dm capture: every packet of every program, once, in order, as tshark decodes it. Needs no privilege."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pcapng
from cases_rdmacm import listens, need_library
from cases_veth import over_links
from instance import Instance, address_of_its_own, free_port, process_is_there, search_path
from program import Failure, Program, Skip, until

# BTH opcodes of RC
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE = 6, 7, 8, 17
SENT = 2  # epb_flags: outbound
COMMENT = re.compile(r"^\S+\[\d+\] QP 0x[0-9a-f]{6} (RC|UC|UD)(, (answers )?[A-Z_]+ wr_id 0x[0-9a-f]+)?(;.*)?$")


class Taken:
    """A capture under way; rows of what was in it once it has ended."""

    def __init__(self, instance, folder, *options):
        self.path = os.path.join(folder, "packets.pcapng")
        self.program = Program("rxe_dm capture", instance.prefix + [instance.command_path, "capture", *options, self.path],
                               instance.env)
        instance.programs.append(self.program)
        self.program.wait_for_line("(?m)^capturing on ")

    def end(self):
        if self.program.running():
            self.program.kill(signal.SIGINT)
        status = self.program.wait(20)
        if status != 0:
            raise Failure(f"rxe_dm capture: exit {status}")
        told = re.search(r"(\d+) packets captured, (\d+) missed", self.program.text())
        if not told:
            raise Failure("the capture does not say how many packets it has")
        return int(told[1]), int(told[2])

    def packets(self):
        """As the format's own rules have them; every ICRC is right but where a fault is named, and time never goes back."""
        packets, there_were, missing = pcapng.read(self.path)
        for i, packet in enumerate(packets):
            if not packet.icrc_is_good() and "; fault " not in packet.comment:
                raise Failure(f"packet {i + 1} has a wrong ICRC: {packet.comment}")
            if i and packet.time_ns < packets[i - 1].time_ns:
                raise Failure(f"packet {i + 1} is older than the one before it")
        if there_were - missing != len(packets):
            raise Failure(f"the file says {there_were} and {missing} missing, and has {len(packets)}")
        return packets

    def fields(self, *names):
        if not shutil.which("tshark", path=search_path()):
            raise Skip("tshark is not installed")
        args = ["tshark", "-n", "-r", self.path, "--disable-protocol", "rpcordma", "-T", "fields"]
        for name in names:
            args += ["-e", name]
        done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise Failure(f"tshark: {done.stderr}")
        return [line.split("\t") for line in done.stdout.split("\n") if line]


def counters(instance):
    return instance.show()["devices"][0]["counters"]


def need_sound(rows):
    """Rows of: protocols, malformed, time, comment."""
    before = 0.0
    for number, row in enumerate(rows, 1):
        if "infiniband" not in row[0] or row[1]:
            raise Failure(f"packet {number} is not decoded: {row}")
        if float(row[2]) < before:
            raise Failure(f"packet {number} is older than the one before it: {row}")
        before = float(row[2])
        if not COMMENT.match(row[3]):
            raise Failure(f"packet {number} has the comment '{row[3]}'")


@contextlib.contextmanager
def device_with_capture(build, name, *options, **settings):
    """A device and a capture of it; afterwards both are at their ends."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, name, **settings) as instance:
        yield instance, Taken(instance, folder, *options)


def pingpong(build):
    """As many packets as the device has counted: each once, though both sides are programs of it."""
    with device_with_capture(build, "capture_pingpong") as (instance, taken):
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "100"])
        packets, missed = taken.end()
        sent = counters(instance)["sent_pkts"]
        rows = taken.fields("frame.protocols", "_ws.malformed", "frame.time_epoch", "frame.comment",
                            "frame.packet_flags")
        need_sound(rows)
        print(f"{packets} captured, {missed} missed, {sent} counted as sent, {len(rows)} decoded")
        if not packets == sent == len(rows) or missed:
            raise Failure("the capture and sent_pkts differ")
        if any(int(row[4], 0) & 3 != SENT for row in rows):
            raise Failure("a packet within the device is written down as sent, and once")
        if len({row[3].split(" ")[0] for row in rows}) != 2:
            raise Failure("the comments do not tell the two programs apart")


def whole(build):
    """Read without tshark: headers, ICRCs, times within the run, and each answer behind what it answers."""
    for name, settings in (("capture_whole", {}), ("capture_v6", {"address": "::1"}), ("capture_trains", {"trains": "off"})):
        began = time.time_ns()
        with device_with_capture(build, name, "--buffer", "64", **settings) as (instance, taken):
            for args in (["ib_write_bw", "-F", "-x", "0", "-s", "10000", "-n", "50"],
                         ["ib_read_bw", "-F", "-x", "0", "-s", "5000", "-n", "50"],
                         ["ib_atomic_bw", "-F", "-x", "0", "-n", "50"],
                         ["ib_send_bw", "-F", "-x", "0", "-c", "UD", "-s", "1000", "-n", "50"],
                         ["ib_send_bw", "-F", "-x", "0", "-c", "UC", "-s", "5001", "-n", "50"]):
                instance.pair(args)
            count, missed = taken.end()
            packets = taken.packets()
            sent = counters(instance)["sent_pkts"]
            print(f"{name}: {count} captured, {missed} missed, {sent} sent")
            if missed or not count == len(packets) == sent:
                raise Failure("the capture and sent_pkts differ")
            if packets[0].time_ns < began or packets[-1].time_ns > time.time_ns():
                raise Failure("the packets' times are not those of the run")
            need_causality(packets)


def need_causality(packets):
    """Nothing of RC is answered before it was sent: seen[from] are the PSNs that went to a queue pair."""
    seen = {}
    for number, packet in enumerate(packets, 1):
        if packet.opcode >> 5 != 0:
            continue
        mine = int(re.search(r"QP (0x[0-9a-f]{6})", packet.comment)[1], 0)
        if 13 <= packet.opcode <= 18:  # answers
            if packet.psn not in seen.get((packet.dest_qpn, mine), set()) and not is_in_read(packet, seen, mine):
                raise Failure(f"packet {number} answers PSN {packet.psn}, which has not been sent")
        else:
            seen.setdefault((mine, packet.dest_qpn), set()).add(packet.psn)


def is_in_read(packet, seen, mine):
    """The answers to one read request stand for several PSNs."""
    return 13 <= packet.opcode <= 16 and any(
        (packet.psn - n) & 0xffffff in seen.get((packet.dest_qpn, mine), set()) for n in range(64))


def both(build):
    """--both: what was received is there as well, and agrees with rcvd_pkts."""
    with device_with_capture(build, "capture_both", "--both") as (instance, taken):
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "50"])
        _, missed = taken.end()
        seen = counters(instance)
        out = [packet.sent for packet in taken.packets()]
        if missed or out.count(True) != seen["sent_pkts"] or out.count(False) != seen["rcvd_pkts"]:
            raise Failure(f"{out.count(True)} out and {out.count(False)} in; the counters say "
                          f"{seen['sent_pkts']} and {seen['rcvd_pkts']}")


def crowd(build):
    """Eight pairs at once: all their packets in one row."""
    with device_with_capture(build, "capture_crowd", "--buffer", "64") as (instance, taken):
        pairs = []
        for _ in range(8):
            port = free_port()
            args = ["ib_write_lat", "-F", "-x", "0", "-n", "300", "-s", "2000"]
            pairs += [instance.serve(args, port), instance.join(args, port)]
        for program in pairs:
            if program.wait(60) != 0:
                raise Failure(f"{program.title}: exit {program.process.returncode}")
        count, missed = taken.end()
        packets = taken.packets()
        print(f"{count} captured, {missed} missed, of {len({p.comment.split(' ')[0] for p in packets})} programs")
        if missed or count != counters(instance)["sent_pkts"]:
            raise Failure("the capture and sent_pkts differ")
        need_causality(packets)


def stopped(build):
    """A program that is stopped is named; when it goes on its packets are there."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "capture_stopped") as instance:
        port = free_port()
        args = ["ib_write_bw", "-F", "-x", "0", "-D", "240", "-s", "64"]
        server, client = instance.serve(args, port), None
        client = instance.join(args, port)
        client.wait_until(lambda: counters(instance)["sent_pkts"] > 100, "some packets")
        client.kill(signal.SIGSTOP)
        taken = Taken(instance, folder, "--snap", "64")
        if f"ib_write_bw (process {client.pid}) does not answer" not in taken.program.text():
            raise Failure("the stopped program is not named")
        client.kill(signal.SIGCONT)
        before = counters(instance)["sent_pkts"]
        client.wait_until(lambda: counters(instance)["sent_pkts"] > before + 5000, "more packets")
        for program in (client, server):
            program.kill()
        taken.end()
        names = {packet.comment.split(" ")[0] for packet in pcapng.read(taken.path)[0]}
        if f"ib_write_bw[{client.pid}]" not in names:
            raise Failure(f"its packets are missing: {names}")


MIDDLES = 62  # of 64 KiB at MTU 1024


def write_bw(build):
    """Trains come apart: First, Middles and Last of each message, fewer ACKs than packets, and the requests' names."""
    rows = write_rows(build)
    opcodes = [int(row[4], 0) for row in rows]
    acks = opcodes.count(ACKNOWLEDGE)
    if not acks or acks * 8 > len(opcodes):
        raise Failure(f"{acks} ACKs in {len(opcodes)} packets: the ACKs are not coalesced")
    rows = write_rows(build, "drop opcode=RC_WRITE_MIDDLE dir=out every=300")
    if len({(row[3].split("]")[0], row[5]) for row in rows}) == len(rows):
        raise Failure("no packet was sent again, though some were lost")


def write_rows(build, rule=None):
    """The packets of 40 messages, as tshark decodes them: protocols, malformed, time, comment, opcode, PSN. What is lost is sent again."""
    with device_with_capture(build, "capture_write", "--buffer", "128") as (instance, taken):
        if rule and instance.command("fault", "add", *rule.split()).returncode != 0:
            raise Failure(f"fault add {rule} failed")
        instance.pair(["ib_write_bw", "-F", "-x", "0", "-s", "65536", "-m", "1024", "-n", "40"])
        packets, missed = taken.end()
        rows = taken.fields("frame.protocols", "_ws.malformed", "frame.time_epoch", "frame.comment",
                            "infiniband.bth.opcode", "infiniband.bth.psn")
        need_sound(rows)
        print(f"{packets} packets, {missed} missed; {counters(instance)}")
        if missed or packets != counters(instance)["sent_pkts"]:
            raise Failure("the capture and sent_pkts differ")
        need_messages(rows)
        return rows


def need_messages(rows):
    """Each message is FIRST, MIDDLEs, LAST with consecutive PSNs; a packet that was sent again counts once."""
    sent = {}
    for row in rows:
        opcode, psn = int(row[4], 0), int(row[5], 0)
        if opcode not in (WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST):
            continue
        if sent.setdefault(psn, opcode) != opcode:
            raise Failure(f"PSN {psn} was sent with the opcodes {sent[psn]} and {opcode}")
        if "RDMA_WRITE wr_id" not in row[3]:
            raise Failure(f"a write's packet does not name its request: {row[3]}")
    firsts = [psn for psn, opcode in sent.items() if opcode == WRITE_FIRST]
    message = [WRITE_FIRST] + [WRITE_MIDDLE] * MIDDLES + [WRITE_LAST]
    if len(firsts) < 40 or len(sent) != len(firsts) * len(message):
        raise Failure(f"{len(firsts)} messages of {len(message)} packets have {len(sent)} packets")
    for first in firsts:
        found = [sent.get(first + i & 0xffffff) for i in range(len(message))]
        if found != message:
            raise Failure(f"a 64 KiB write at MTU 1024 is FIRST, {MIDDLES} MIDDLEs, LAST; PSN {first} begins {found}")


def failures(build):
    """Queue pairs that failed are told of when their programs have gone, each with its cause and its last packets."""
    with Instance(build, "failures") as instance:
        program = os.path.join(build, "tests", "client", "verbs_errors")
        instance.run([program])
        shown = instance.show()["devices"][0]["failures"]
        text = instance.command("show", "--packets").stdout
        print(text)
        for words in ("REM_ACCESS_ERR.*rkey 0x[0-9a-f]{8} does not permit an RDMA write of 10 bytes at 0x[0-9a-f]+: "
                      "the key is not registered",
                      "LOC_PROT_ERR.*lkey 0x[0-9a-f]{8} does not permit access to 10 bytes",
                      "the receive with wr_id 0x5 holds 99 bytes, and the message is longer",
                      r"invalid request NAK for PSN \d+: the peer reports: .* holds 99 bytes, and the message is longer",
                      "the address of an atomic, 0x[0-9a-f]+, is not a multiple of 8",
                      r"< RC_ACKNOWLEDGE psn \d+ to QP 0x[0-9a-f]{6}, 20 bytes, NAK: remote access"):
            if not re.search(words, text):
                raise Failure(f"'show --packets' says nothing like: {words}")
        if len(shown) != text.count(" s ago, ") or not all(one["cause"] for one in shown):
            raise Failure("the table and --json differ, or a cause is missing")
        one = shown[-1]["qpn"]
        if instance.command("show", "--packets", f"{one:06x}").stdout.count(f"QP 0x{one:06x} RC") != 1:
            raise Failure(f"'show --packets {one:06x}' does not tell of that queue pair alone")
        if "recent failures" not in instance.command("show").stdout:
            raise Failure("'show' says nothing of the failures")


def peer_exited(build):
    """The most common of all: the other program is no more."""
    with Instance(build, "peer_exited") as instance:
        port = free_port()
        server = instance.serve(["ib_write_bw", "-F", "-x", "0", "-D", "240"], port)
        client = instance.join(["ib_write_bw", "-F", "-x", "0", "-D", "240"], port)
        client.wait_until(lambda: counters(instance)["sent_pkts"] > 1000, "a thousand packets")
        server.kill()
        client.wait_until(lambda: instance.show()["devices"][0]["failures"], "a failed queue pair")
        cause = instance.show()["devices"][0]["failures"][0]
        print(cause)
        if cause["status"] != "RETRY_EXC_ERR" or not re.search(
                r"sent PSN \d+(\.\.\d+)? \d+ times, no answer: the program of QP 0x[0-9a-f]{6} has exited",
                cause["cause"]):
            raise Failure("the cause is not that the peer has exited")


def on_interfaces(build):
    """Devices on a veth pair, and one on UDP across it: what one side sends the other gets, byte for byte."""
    def use(here, there, _pair):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            taken = [Taken(here, one, "--buffer", "64"), Taken(there, two, "--buffer", "64")]
            here.pair(["ib_write_bw", "-F", "-x", "0", "-s", "20000", "-n", "30"], peer=there)
            here.pair(["ib_read_bw", "-F", "-x", "0", "-s", "20000", "-n", "30"], peer=there)
            rows = []
            for instance, capture in zip((here, there), taken):
                _, missed = capture.end()
                packets, seen = capture.packets(), counters(instance)
                rows.append([[p.transport for p in packets if p.sent], [p.transport for p in packets if not p.sent]])
                print([len(row) for row in rows[-1]], missed, seen["sent_pkts"], seen["rcvd_pkts"], flush=True)
                if [len(row) for row in rows[-1]] != [seen["sent_pkts"], seen["rcvd_pkts"]]:
                    raise Failure("the capture and the counters differ")
            # Not in that order: a veth pair queues by processor, and a sender that is moved to another overtakes itself.
            if sorted(rows[0][0]) != sorted(rows[1][1]) or sorted(rows[1][0]) != sorted(rows[0][1]):
                raise Failure("what was sent and what was received differ")
    over_links(build, "vcap", use)


FAULTS = ["drop opcode=RC_SEND_* dir=out every=40", "corrupt part=payload opcode=RC_SEND_* dir=out every=55",
          "corrupt part=icrc opcode=RC_ACKNOWLEDGE dir=out every=30", "duplicate opcode=RC_SEND_LAST dir=out every=33"]


def faults(build):
    """A device that misbehaves: each fault that fired is marked, nothing else is malformed, and the counters agree."""
    with device_with_capture(build, "capture_faults") as (instance, taken):
        if "not supported" in instance.command("fault", "list").stderr:
            raise Skip("this device takes no faults")
        for rule in FAULTS:
            added = instance.command("fault", "add", *rule.split())
            if added.returncode != 0:
                raise Failure(f"fault add {rule}: {added.stderr}")
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-c", "-n", "300"])
        fired = {one["number"]: one["fired"] for one in json.loads(instance.command("fault", "list", "--json").stdout)}
        _, missed = taken.end()
        packets, seen = taken.packets(), counters(instance)
        marks = [int(mark[1]) if (mark := re.search(r"; fault (\d+): ", p.comment)) else 0 for p in packets]
        lost = sum("; LOST" in p.comment for p in packets)
        spoiled = sum(not p.icrc_is_good() for p in packets)
        print(f"{len(packets)} captured, {missed} missed, fired {fired}, {lost} lost, {spoiled} spoiled; {seen}")
        if any(marks.count(i) != fired[i] for i in (1, 2, 3)) or marks.count(4) != 2 * fired[4] or not all(fired.values()):
            raise Failure("not every fault that fired is marked, or others are")
        if lost != fired[1] or spoiled != fired[2] + fired[3] or spoiled != seen["rcvd_bad_icrc"]:
            raise Failure("lost and spoiled packets are not those that the faults and counters name")
        if len(packets) != seen["sent_pkts"] + fired[4] or len(packets) - lost != seen["rcvd_pkts"]:
            raise Failure("the capture, sent_pkts and rcvd_pkts differ")
        for number, row in enumerate(taken.fields("_ws.malformed"), 1):
            if row[0] and not marks[number - 1]:
                raise Failure(f"packet {number} is malformed and not marked")


def several(build):
    """Two captures at once, one of headers only; the second ends first and disturbs nobody."""
    with device_with_capture(build, "capture_several") as (instance, taken), tempfile.TemporaryDirectory() as folder:
        short, sent = Taken(instance, folder, "--snap", "64"), []

        def run():
            """A pair with nothing lost, unless a program stood still until its peer sent again."""
            before = counters(instance)
            instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "20"])
            seen = counters(instance)
            sent.append(seen["sent_pkts"])
            added = {name: seen[name] - before[name] for name in ("rdma_sends", "rdma_recvs", "duplicate_request")}
            print(added, sent)
            if added["rdma_sends"] != 40 or added["rdma_recvs"] != 40:
                raise Failure(f"20 messages each way are counted as {added}")
            if seen["sent_pkts"] - before["sent_pkts"] != 200 and not added["duplicate_request"]:
                raise Failure("20 messages of 4 packets each way, and their ACKs, are 200 packets")

        run()
        first = short.end()
        run()
        second = taken.end()
        run()  # after the captures all is as before
        lengths = [(int(row[0]), int(row[1])) for row in short.fields("frame.cap_len", "frame.len")]
        print(first, second, max(lengths))
        if first != (sent[0], 0) or second != (sent[1], 0):
            raise Failure(f"{sent} packets sent at the end of each run; captured {first} and {second}")
        if max(cap for cap, _ in lengths) > 64 + 42 or max(full for _, full in lengths) < 1024:
            raise Failure("--snap 64 keeps more than 64 bytes of a packet, or forgets its length")


def limits(build):
    """--count and --seconds end it; so does the server's end, and a full disk is said."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "capture_limits") as instance:
        taken = Taken(instance, folder, "--count", "17")
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "20"])
        if taken.program.wait(10) != 0 or taken.end()[0] != 17 or len(taken.fields("frame.number")) != 17:
            raise Failure("--count 17 does not end with 17 packets")
        taken = Taken(instance, folder, "--seconds", "1")
        if taken.program.wait(10) != 0 or taken.end() != (0, 0):
            raise Failure("--seconds 1 does not end by itself")
        full = instance.command("capture", "--seconds", "1", "/dev/full")
        if full.returncode != 1 or "No space left" not in full.stderr:
            raise Failure(f"a full disk: exit {full.returncode}, {full.stderr}")
        taken = Taken(instance, folder)
        instance.command("stop")
        if taken.program.wait(10) != 0 or taken.end() != (0, 0):
            raise Failure("the capture does not end with its server")


def last(build):
    """--last holds though the command finds more than ten times as much at once: it was stopped while the packets were sent."""
    with device_with_capture(build, "capture_last", "--last", "1") as (instance, taken):
        taken.program.kill(signal.SIGSTOP)
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "1500", "-s", "4096"])
        taken.program.kill(signal.SIGCONT)
        packets, missed = taken.end()
        older = taken.path.replace(".pcapng", ".old.pcapng")
        sizes = [os.path.getsize(path) for path in (taken.path, older)]
        # The number of packets that fit depends on the machine's pace: on a busy one more of them are ACKs.
        if missed or packets < 12 * 256 or sum(sizes) > 1 << 20 or sizes[0] > 1 << 19:
            raise Failure(f"1 MiB of {packets} packets: {sizes} bytes, {missed} missed")
        if not pcapng.read(taken.path)[0]:
            raise Failure("no packet in the newer file")


def holds_server(build):
    """A server that would go at once stays for a capture, and goes after it, also when that is killed."""
    for sig in (signal.SIGINT, signal.SIGKILL):
        with device_with_capture(build, "capture_holds", linger="0") as (instance, taken):
            server = instance.server_pid()
            time.sleep(6)  # longer than a server waits for its first client
            if instance.server_pid() != server:
                raise Failure("the server has gone in the middle of a capture")
            instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "5"])
            taken.program.kill(sig)
            taken.program.wait(10)
            until(lambda: not process_is_there(server), "end of the server after that of the capture")


def killed(build):
    """Programs that are killed in the middle of anything do not disturb the capture of the others."""
    with device_with_capture(build, "capture_killed", "--snap", "64") as (instance, taken):
        for _ in range(5):
            port = free_port()
            server = instance.serve(["ib_write_bw", "-F", "-x", "0", "-D", "240"], port)
            client = instance.join(["ib_write_bw", "-F", "-x", "0", "-D", "240"], port)
            before = counters(instance)["sent_pkts"]
            client.wait_until(lambda: counters(instance)["sent_pkts"] > before + 5000, "some packets")
            client.kill()
            server.kill()
        sent = counters(instance)["sent_pkts"]
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "50"])
        packets, missed = taken.end()
        rows = taken.fields("frame.protocols", "_ws.malformed", "frame.time_epoch", "frame.comment")
        last = [row for row in rows if "ibv_rc_pingpong" in row[3]]
        print(f"{packets} captured, {missed} missed, {sent} sent before, {len(last)} of the last pair")
        before = 0.0
        for row in rows:
            if float(row[2]) < before:
                raise Failure(f"{row} is older than the packet before it")
            before = float(row[2])
        if len(last) != counters(instance)["sent_pkts"] - sent:
            raise Failure("packets of the last pair are missing")


def maps_ring(program):
    with open(f"/proc/{program.pid}/maps", encoding="utf-8") as f:
        return "rxe_dm capture" in f.read()


def left(build):
    """A capture that is killed costs the programs nothing, and its file is sound as far as it goes; the next one starts afresh."""
    with device_with_capture(build, "capture_left") as (instance, taken):
        port = free_port()
        args = ["ib_write_bw", "-F", "-x", "0", "-s", "4096", "-D", "240"]
        programs = [instance.serve(args, port), instance.join(args, port)]
        before = counters(instance)["sent_pkts"]
        programs[1].wait_until(lambda: counters(instance)["sent_pkts"] > before + 5000, "some packets")
        if not all(maps_ring(program) for program in programs):
            raise Failure("a program that is captured has no ring")
        taken.program.kill()
        taken.program.wait(10)
        for program in programs:
            program.wait_until(lambda program=program: not maps_ring(program), "an end of writing for nobody")
        with tempfile.TemporaryDirectory() as folder:
            second = Taken(instance, folder, "--count", "2000")
            second.program.wait(20)
            if second.end()[0] != 2000 or len(second.packets()) != 2000:
                raise Failure("the capture after it is not whole")
        before = counters(instance)["sent_pkts"]
        for program in programs:
            program.wait_until(lambda: counters(instance)["sent_pkts"] > before + 5000, "traffic without its capture")
        torn = pcapng.cut(taken.path)
        rows = taken.fields("frame.protocols", "_ws.malformed", "frame.time_epoch", "frame.comment")
        print(f"{len(rows)} packets in the file of the killed one, {torn} bytes of a torn one")
        need_sound(rows)
        if len(rows) < 1000:
            raise Failure("what was taken before it was killed is lost")


def spared(build):
    """A file is not touched for a device that is not there, and not made; one that cannot be written to is an error."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "capture_spared") as instance:
        path = os.path.join(folder, "old")
        with open(path, "w", encoding="ascii") as f:
            f.write("precious" * 100)
        for name in (path, os.path.join(folder, "new")):
            if instance.command("capture", "--device", "rxe_dm7", name).returncode != 1:
                raise Failure("a device that is not there was captured")
        if os.listdir(folder) != ["old"] or os.path.getsize(path) != 800:
            raise Failure(f"{os.listdir(folder)}, {os.path.getsize(path)} bytes of the old one")
        done = instance.command("capture", "--seconds", "1", path)
        with open(path, "rb") as f:
            if done.returncode or b"precious" in f.read():
                raise Failure(f"the file was not written again: {done.stderr}")
        done = instance.command("capture", "--seconds", "5", "/dev/full")
        if done.returncode != 1 or "No space left" not in done.stderr or "Ctrl-C" in done.stderr:
            raise Failure(f"a full disk: {done.returncode}: {done.stderr}")


def overrun(build):
    """More than the file can take: what is missing is counted, so that all is accounted for."""
    with device_with_capture(build, "capture_overrun", "--buffer", "1") as (instance, taken):
        instance.pair(["ib_write_bw", "-F", "-x", "0", "-s", "1048576", "-n", "500"])
        packets, missed = taken.end()
        sent = counters(instance)["sent_pkts"]
        print(f"{packets} captured, {missed} missed, {sent} sent")
        noted = sum(packet.missing for packet in taken.packets())
        if packets + missed != sent or noted > missed:
            raise Failure(f"captured and missed are not what was sent, or {noted} are noted as missing")


def piped(build):
    """- writes to standard output, packet by packet as they come; who reads may go."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "capture_piped") as instance:
        text = os.path.join(folder, "out")
        command = f"{instance.command_path} capture - | head -c 3000 >{text}"
        shell = Program("capture | head", ["bash", "-o", "pipefail", "-c", command], instance.env)
        instance.programs.append(shell)
        shell.wait_for_line("(?m)^capturing on ")
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "20"])
        if shell.wait(10) != 0 or os.path.getsize(text) != 3000:
            raise Failure("a reader that goes is no error")


def two_devices(build):
    """Between two devices each has what it sends, and what it gets from the other."""
    with device_with_capture(build, "capture_one") as (one, first), \
            device_with_capture(build, "capture_two") as (two, second):
        one.pair(["ibv_rc_pingpong", "-g", "0", "-n", "50"], peer=two)
        for instance, taken in ((one, first), (two, second)):
            _, missed = taken.end()
            seen = counters(instance)
            out = [packet.sent for packet in taken.packets()]
            if missed or out.count(True) != seen["sent_pkts"] or out.count(False) != seen["rcvd_pkts"]:
                raise Failure(f"{out.count(True)} out, {out.count(False)} in, {missed} missed; {seen}")


MESSAGES = ["ConnectRequest", "ConnectReply", "ReadyToUse", "DisconnectRequest", "DisconnectReply"]


def connection(build):
    """The messages of a connection, within a device and between two: each once, in order, and said to be the connection manager's."""
    for addresses in (1, 2):
        address = ",".join(address_of_its_own() for _ in range(addresses))
        with device_with_capture(build, "capture_cm", address=address, devices=addresses) as (instance, taken):
            need_library(instance)
            first, last = address.split(",")[0], address.split(",")[-1]
            common = ["rping", "-a", last, "-C", "1", "-p", str(free_port())]
            server = instance.start(common + ["-s"])
            server.wait_until(lambda: listens(instance), "listener")
            instance.run(common + ["-c", "-I", first])
            server.wait(60)
            taken.end()
            rows = [row for row in taken.fields("_ws.col.Info", "frame.comment") if row[0].startswith("CM: ")]
            if [row[0][4:] for row in rows] != MESSAGES:
                raise Failure(f"the capture has {rows}")
            ways = [re.fullmatch(r"rxe_dm\[\d+\] QP 0x000001 UD; (sent by|to) the connection manager", row[1])[1] for row in rows]
            if ways != ["sent by" if addresses == 1 or name not in ("ConnectReply", "DisconnectReply") else "to" for name in MESSAGES]:
                raise Failure(f"the comments of the messages are {rows}")


RAW_SEND_ONLY, HEADERS = 0xc4, 20
FRAME = bytes.fromhex("020000000002020000000001" "0800")
FRAME_FAULTS = {"drop", "duplicate", "reorder", "delay", "corrupt", "truncate"}


def raw_frames(build):
    """Frames of the private wire, on either link: each is the payload of a packet. What a rule did to one is marked."""
    for link in ("udp", "memory"):
        with device_with_capture(build, "capture_raw", link=link) as (instance, taken), tempfile.TemporaryDirectory() as folder:
            instance.run([os.path.join(build, "tests", "client", "verbs_counters")], timeout_s=120)
            count, missed = taken.end()
            packets, sent = taken.packets(), counters(instance)["sent_pkts"]
            print(f"{count} captured, {missed} missed, {sent} sent")
            if missed or not count == len(packets) == sent or sent < 20:
                raise Failure("the capture and sent_pkts differ")
            for packet in packets:
                if packet.opcode != RAW_SEND_ONLY or not packet.transport[HEADERS:].startswith(FRAME):
                    raise Failure(f"this is no frame of the test: {packet.transport.hex()}")
                if not re.search(r" QP 0x[0-9a-f]{6} RAW_PACKET$", packet.comment):
                    raise Failure(f"a frame has the comment '{packet.comment}'")
            spoiled = Taken(instance, folder)
            instance.run([os.path.join(build, "tests", "client", "verbs_raw_faults")], timeout_s=120,
                         env={"RXE_TEST_COMMAND": instance.command_path})
            spoiled.end()
            marks = {mark[1] for packet in spoiled.packets() if (mark := re.search(r"; fault \d+: (\w+)", packet.comment))}
            if marks != FRAME_FAULTS:
                raise Failure(f"what is marked is {marks}")


CASES = {
    "capture_connection": connection,
    "capture_raw": raw_frames,
    "capture_pingpong": pingpong,
    "capture_whole": whole,
    "capture_both": both,
    "capture_crowd": crowd,
    "capture_stopped": stopped,
    "capture_write_bw": write_bw,
    "capture_veth": on_interfaces,
    "capture_faults": faults,
    "capture_several": several,
    "capture_limits": limits,
    "capture_last": last,
    "capture_holds_server": holds_server,
    "capture_killed": killed,
    "capture_left": left,
    "capture_overrun": overrun,
    "capture_spared": spared,
    "capture_piped": piped,
    "capture_two_devices": two_devices,
    "failures_reported": failures,
    "failures_peer_exited": peer_exited,
}
