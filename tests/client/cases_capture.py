# SPDX-License-Identifier: MIT
"""rxe_dm capture: every packet of every program, once, in order, as tshark decodes it. Needs no privilege."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile

from instance import Instance, search_path
from program import Failure, Program, Skip

# BTH opcodes of RC
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE = 6, 7, 8, 17
SENT = 2  # epb_flags: outbound
COMMENT = re.compile(r"^\S+\[\d+\] QP 0x[0-9a-f]{6} (RC|UC|UD)(, (answers )?[A-Z_]+ wr_id 0x[0-9a-f]+)?(;.*)?$")


class Taken:
    """A capture under way; rows of what was in it once it has ended."""

    def __init__(self, instance, folder, *options):
        if not shutil.which("tshark", path=search_path()):
            raise Skip("tshark is not installed")
        self.path = os.path.join(folder, "packets.pcapng")
        self.program = Program("rxe_dm capture", [instance.command_path, "capture", *options, self.path],
                               instance.env)
        instance.programs.append(self.program)
        self.program.wait_for_line("^capturing on ")

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

    def fields(self, *names):
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


def both(build):
    """--both: what was received is there as well, and agrees with rcvd_pkts."""
    with device_with_capture(build, "capture_both", "--both") as (instance, taken):
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "50"])
        packets, missed = taken.end()
        seen = counters(instance)
        flags = [int(row[0], 0) & 3 for row in taken.fields("frame.packet_flags")]
        if missed or packets != len(flags):
            raise Failure(f"{packets} captured, {missed} missed, {len(flags)} in the file")
        if flags.count(SENT) != seen["sent_pkts"] or flags.count(1) != seen["rcvd_pkts"]:
            raise Failure(f"{flags.count(SENT)} out and {flags.count(1)} in; the counters say "
                          f"{seen['sent_pkts']} and {seen['rcvd_pkts']}")


def write_bw(build):
    """Trains come apart: First, Middles and Last of each message, fewer ACKs than packets, and the requests' names."""
    with device_with_capture(build, "capture_write", "--buffer", "128") as (instance, taken):
        instance.pair(["ib_write_bw", "-F", "-x", "0", "-s", "65536", "-m", "1024", "-n", "40"])
        packets, missed = taken.end()
        rows = taken.fields("frame.protocols", "_ws.malformed", "frame.time_epoch", "frame.comment",
                            "infiniband.bth.opcode")
        need_sound(rows)
        opcodes = [int(row[4], 0) for row in rows]
        firsts, lasts = opcodes.count(WRITE_FIRST), opcodes.count(WRITE_LAST)
        middles, acks = opcodes.count(WRITE_MIDDLE), opcodes.count(ACKNOWLEDGE)
        print(f"{packets} packets, {missed} missed: {firsts} FIRST, {middles} MIDDLE, {lasts} LAST, {acks} ACK")
        if missed or packets != counters(instance)["sent_pkts"]:
            raise Failure("the capture and sent_pkts differ")
        if not firsts or firsts != lasts or middles < 62 * firsts:
            raise Failure("a 64 KiB write at MTU 1024 is FIRST, 62 MIDDLEs, LAST")
        if not acks or acks * 8 > len(opcodes):
            raise Failure("the ACKs are not coalesced")
        if not all("RDMA_WRITE wr_id" in row[3] for row, code in zip(rows, opcodes) if code == WRITE_LAST):
            raise Failure("a write's packet does not name its request")


CASES = {
    "capture_pingpong": pingpong,
    "capture_both": both,
    "capture_write_bw": write_bw,
}
