# SPDX-License-Identifier: MIT
"""What others see on the wire: tshark's own dissector, on the loopback interface."""

import os
import shutil
import subprocess
import tempfile

from instance import Instance, search_path
from program import Failure, Program, Skip

# BTH opcodes of RC
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE = 6, 7, 8, 17


class Capture:
    """dumpcap on lo, one address only; needs the right to capture."""

    def __init__(self, folder, address):
        dumpcap = shutil.which("dumpcap", path=search_path())
        if not dumpcap or not shutil.which("tshark", path=search_path()):
            raise Skip("tshark is not installed")
        # It gives up root's rights after opening, so it writes where anybody may.
        os.chmod(folder, 0o777)
        self.file = os.path.join(folder, "lo.pcap")
        self.program = Program("dumpcap", [
            dumpcap, "-q", "-P", "-i", "lo", "-f", f"host {address} and udp port 4791",
            "-B", "64", "-w", self.file], dict(os.environ))
        try:
            self.program.wait_until(lambda: "File:" in self.program.text(), "capture", 15)
        except Failure:
            why = self.program.text().strip().split("\n")[0]
            self.program.end()
            raise Skip(f"no right to capture on lo: {why}") from None

    def stop(self):
        self.program.end()

    def fields(self, *names, condition="udp.port == 4791"):
        """A row for each packet: the named fields, as tshark decodes them."""
        args = ["tshark", "-n", "-r", self.file, "-Y", condition, "-T", "fields"]
        for name in names:
            args += ["-e", name]
        done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise Failure(f"tshark: {done.stderr}")
        return [line.split("\t") for line in done.stdout.split("\n") if line]


def capture_of(build, name, args, check):
    with tempfile.TemporaryDirectory() as folder, \
            Instance(build, name, trains="off") as instance:
        capture = Capture(folder, instance.address)
        try:
            instance.pair(args)
        finally:
            capture.stop()
        check(capture)


def need_decoded(capture):
    """Every packet is RRoCE and no dissector stumbled."""
    rows = capture.fields("frame.protocols", "infiniband.bth.opcode", "_ws.malformed", "frame.len")
    if not rows:
        raise Failure("no packet was captured")
    for number, row in enumerate(rows, 1):
        if "infiniband" not in row[0]:
            raise Failure(f"packet {number} is not RRoCE: {row}")
        if row[2]:
            raise Failure(f"packet {number} is malformed: {row}")
    return [int(row[1], 0) for row in rows]


def pingpong_decoded(build):
    capture_of(build, "tshark_pingpong", ["ibv_rc_pingpong", "-g", "0", "-n", "50"], need_decoded)


def ud_decoded(build):
    capture_of(build, "tshark_ud", ["ibv_ud_pingpong", "-g", "0", "-n", "50"], need_decoded)


def atomics_decoded(build):
    capture_of(build, "tshark_atomic", ["ib_atomic_bw", "-F", "-x", "0", "-n", "50"], need_decoded)


def reads_decoded(build):
    capture_of(build, "tshark_read", ["ib_read_bw", "-F", "-x", "0", "-n", "20", "-m", "1024"],
               need_decoded)


def long_write(build):
    """64 KiB at MTU 1024: FIRST, 62 MIDDLEs, LAST, and far fewer ACKs than packets."""
    def check(capture):
        opcodes = need_decoded(capture)
        firsts, lasts = opcodes.count(WRITE_FIRST), opcodes.count(WRITE_LAST)
        middles, acks = opcodes.count(WRITE_MIDDLE), opcodes.count(ACKNOWLEDGE)
        print(f"{firsts} FIRST, {middles} MIDDLE, {lasts} LAST, {acks} ACK")
        if not firsts or firsts != lasts or middles < 62 * firsts:
            raise Failure("a 64 KiB write at MTU 1024 is FIRST, 62 MIDDLEs, LAST")
        if not acks or acks * 8 > len(opcodes):
            raise Failure("the ACKs are not coalesced")
    capture_of(build, "tshark_write", ["ib_write_bw", "-F", "-x", "0", "-s", "65536", "-m", "1024",
                                       "-n", "40"], check)


CASES = {
    "tshark_pingpong": pingpong_decoded,
    "tshark_ud": ud_decoded,
    "tshark_atomics": atomics_decoded,
    "tshark_reads": reads_decoded,
    "tshark_long_write": long_write,
}
