# SPDX-License-Identifier: MIT
"""What others see on the wire: tshark's own dissector, on the loopback interface."""

import tempfile

from capture import Capture
from instance import Instance
from program import Failure

# BTH opcodes of RC
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE = 6, 7, 8, 17


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
    """Every packet is RRoCE and no dissector stumbled. Returns the opcode and PSN of each."""
    rows = capture.fields("frame.protocols", "infiniband.bth.opcode", "_ws.malformed", "infiniband.bth.psn")
    if not rows:
        raise Failure("no packet was captured")
    for number, row in enumerate(rows, 1):
        if "infiniband" not in row[0]:
            raise Failure(f"packet {number} is not RRoCE: {row}")
        if row[2]:
            raise Failure(f"packet {number} is malformed: {row}")
    return [(int(row[1], 0), row[3]) for row in rows]


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
        # A requester that no answer reaches for 8 ms, as on a busy machine, sends its oldest packet once more.
        opcodes = [opcode for opcode, _ in set(need_decoded(capture))]
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
