# SPDX-License-Identifier: MIT
"""Makes the seed corpora: packets of tests/wire as each target reads its input, and texts for those that read text.

usage: seeds.py WIRE_FOLDER STAMP     writes seeds/TARGET/NAME beside STAMP"""

import json
import os
import shutil
import struct
import sys

ROCE_PORT = 4791
SERVICE_QP = {0: 0, 1: 2, 3: 3, 5: 0}  # RC, UC, UD, XRC: which of the host's queue pairs a packet names
XRC_RECV, XRC_SEND = 4, 5  # ... and what is posted
ANSWERS = {0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12}
SENDS = {0x00, 0x04, 0x05, 0x09, 0x0b, 0x17}  # that begin with a receive, or need one at the end
STEP_FORGED, STEP_BYTES, STEP_RECV, STEP_SEND, STEP_TIME, STEP_OUTPUT, STEP_MODIFY = range(7)
KEEP_PSN = 1 << 3


def frames(path):
    with open(path, "rb") as f:
        data = f.read()
    at = 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16:at + 16 + length]
        at += 16 + length


def packet_of(frame):
    """(IPv6?, IP identification, source port, BTH to ICRC)"""
    v6 = frame[12:14] == b"\x86\xdd"
    udp = 14 + (40 if v6 else 20)
    ip_id = 0 if v6 else struct.unpack_from(">H", frame, 18)[0]
    port, _, length = struct.unpack_from(">HHH", frame, udp)
    return v6, ip_id, port, frame[udp + 8:udp + length]


def psn_of(packet):
    return packet[9:12]


def setup(packets, is_answer):
    """The host's first ten bytes: its MTU and PSNs are those of the capture."""
    longest = max((len(p) for p in packets), default=0)
    mtu = next((i for i in range(5) if 256 << i >= longest - 32), 4)
    first = next((psn_of(p) for p in packets if (p[0] & 0x1f in ANSWERS) == is_answer), b"\0\0\0")
    psn = first[::-1]
    return bytes([0, mtu, 0x77, 0x2e]) + psn + psn


def bytes_step(packet, delta=0, flags=0):
    qp = SERVICE_QP.get(packet[0] >> 5, 0)
    return struct.pack("<BBbH", STEP_BYTES, qp | flags, delta, len(packet)) + packet


def requests(packets):
    script = setup(packets, False)
    for packet in packets:
        if packet[0] & 0x1f in ANSWERS:
            continue
        if packet[0] & 0x1f in SENDS:
            script += struct.pack("<BBH", STEP_RECV, SERVICE_QP.get(packet[0] >> 5, 0), 2048)
        script += bytes_step(packet, flags=KEEP_PSN) + bytes([STEP_OUTPUT])
    return script


def answers(packets, case):
    """What the requester of the capture was asked to do, and what it was answered."""
    of_wr = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 9: 7}
    script = setup(packets, False)
    for wr in case.get("requester did", [])[:16]:
        script += struct.pack("<BBBH", STEP_SEND, 0, of_wr.get(wr.get("op", 2), 2),
                              min(wr.get("length", 8), 0xfffc))
    script += bytes([STEP_OUTPUT])
    for packet in packets:
        if packet[0] & 0x1f in ANSWERS:
            script += bytes_step(packet, flags=KEEP_PSN) + bytes([STEP_OUTPUT])
        else:
            script += struct.pack("<BH", STEP_TIME, 20)
    return script


def forged(opcodes, answering):
    """One packet of each operation, at the PSN that is expected."""
    script = bytes([0, 2, 0x77, 0x2e]) + b"\xfe\xff\xff" * 2
    for opcode in opcodes:
        qp = SERVICE_QP[opcode >> 5]
        xrc = opcode >> 5 == 5
        if answering:
            script += struct.pack("<BBBH", STEP_SEND, XRC_SEND if xrc else qp, opcode % 8, 600) + bytes([STEP_OUTPUT])
        else:
            script += struct.pack("<BBH", STEP_RECV, XRC_RECV if xrc else qp, 2000)
        srq = b"\1" if xrc and opcode & 0x1f not in ANSWERS else b""
        place = bytes([1, 0, 0, 0x40, 0]) if opcode & 0x1f in (6, 0xa, 0xb, 0xc, 0x13, 0x14) else b""
        script += bytes([STEP_FORGED, qp | 8, opcode, 0]) + srq + place + bytes([0x40, 0]) * 2
        script += bytes([STEP_OUTPUT])
    return script


# enum host_region, and how long each is; offsets reach 32 KiB.
REGIONS = {1: 70001, 2: 9999, 3: 65536, 4: 65536, 5: 70001, 6: 4096, 7: 4096, 8: 1001, 9: 4096, 10: 4096}
ERR, SQD, RTS, RESET, INIT, RTR = range(6)


def anew(qp, *states):
    return b"".join(bytes([STEP_MODIFY, qp | state * 4]) for state in states)


def borders(region, length, rts):
    """Each way to touch a region, in it, at its end, past it, before it."""
    script = bytes([0, 2, 0x77, 0x2e]) + b"\x00\x01\x00" * 2
    for opcode in (0x0a, 0x0c, 0x13, 0x14, 0x2a):
        for offset, size in ((0, 8), (length - 8, 8), (length - 7, 8), (length, 1), (-1, 2), (0, length), (8, length)):
            qp = SERVICE_QP[opcode >> 5]
            offset = max(min(offset, 32767), -32768)
            place = struct.pack("<Bh", region, offset) if opcode in (0x13, 0x14) else \
                struct.pack("<BhH", region, offset, min(size, 0xfff0))
            script += bytes([STEP_FORGED, qp | 8, opcode, 0]) + place
            script += struct.pack("<HH", 1, 1) if opcode in (0x13, 0x14) else b""
            script += struct.pack("<H", min(size, 4096)) if opcode & 0x1f == 0x0a else b""
            script += bytes([STEP_OUTPUT]) + anew(qp, RESET, INIT, RTR, *([RTS] if rts else []))
    return script


STRANGER, BAD_ICRC, BAD_PKEY = 1 << 4, 1 << 5, 1 << 7


def intruders(rts):
    """Good packets but for the sender, the ICRC or the key, to each kind of queue pair; receives that are too short."""
    script = bytes([0, 2, 0x77, 0x2e]) + b"\x00\x01\x00" * 2
    for flaw in (STRANGER, BAD_ICRC, BAD_PKEY):
        for opcode, qp in ((0x04, 0), (0x04, 1), (0x0a, 0), (0x24, 2), (0x2a, 2), (0x64, 3), (0x11, 0)):
            place = struct.pack("<BhH", 1, 0, 64) if opcode & 0x1f == 0x0a else b""
            parts = b"\1" if opcode == 0x64 else bytes([0, 1]) if opcode == 0x11 else b""
            script += struct.pack("<BBH", STEP_RECV, qp, 64)
            script += struct.pack("<BBBH", STEP_SEND, 0, 2, 64) + bytes([STEP_OUTPUT]) if rts else b""
            script += bytes([STEP_FORGED, qp | flaw, opcode, 0]) + place + parts
            script += struct.pack("<H", 64) if opcode != 0x11 else b""
            script += bytes([STEP_OUTPUT])
    for qp, opcode in ((0, 0x04), (2, 0x24), (3, 0x64)):
        script += struct.pack("<BBH", STEP_RECV, qp, 60)
        script += bytes([STEP_FORGED, qp, opcode, 0]) + (b"\1" if qp == 3 else b"") + struct.pack("<H", 64)
    return script


RULES = [
    "drop opcode=ACKNOWLEDGE nth=3 qp=0x11",
    "duplicate dir=out probability=1% seed=7 copies=3",
    "delay time=5ms opcode=RC_WRITE_* psn=100..110",
    "rnr_nak dir=in opcode=SEND_* nth=1..5 timer=12",
    "nak code=remote_access opcode=RC_RDMA_* peer_qp=2..9 every=2",
    "reorder behind=3 within=20us attempt=0", "corrupt part=payload icrc=good seen=2..4",
    "corrupt part=header", "corrupt part=icrc", "truncate keep=20", "nak code=4 qp=#0..3",
    "drop probability=0.25 seed=18446744073709551615\n# a comment\n\ndelay time=1s\n",
    "completion status=IBV_WC_REM_ACCESS_ERR side=recv qp=#1 nth=2..3", "completion status=GENERAL_ERR probability=2%",
    "verb name=ibv_reg_mr,create_* errno=ENOMEM every=3 seed=9", "verb name=post_send errno=4000 nth=1",
    "port_down time=200ms after=1s", "gid_change index=1 gid=fe80::1 time=3s", "gid_change gid=none", "gid_change to=3",
    "device_fatal after=20us",
    "truncate keep=4200 opcode=4,0x11,RC_SEND_ONLY", "drop psn=16777215..3 dir=any",
]
RULE_PACKETS = b"\0" + b"".join(
    struct.pack("<BH", kind, length) + bytes([opcode, 0, 255, 255, 0, 0, 0, 2 + kind % 3, 128, 0, 0,
                                              100, 1, 2, 3, 4])
    for kind, length, opcode in [(0x40, 1044, 7), (1, 100, 4), (0, 20, 0x11), (0x21, 60, 4),
                                 (2, 300, 10), (3, 300, 0xc), (0x10, 4120, 1)])

SETTINGS = [
    "--instance\na-b_c.d", "--address=127.0.0.1,127.0.0.2\n--devices\n2", "--address\nfd00::1",
    "--arena=64M\n--linger\n5\n--slots=16", "--arena=1T", "--arena\n65536",
    "--trains=off\n--mlx5\non\n--", "--foreground\n--quiet\n--\nprogram\n--slots", "--help", "-h",
    "--devices=16\n--address=10.0.0.1", "--slots=257", "--linger=1000001", "--address=0.0.0.0",
    "--unknown=3", "--instance=" + "x" * 33, "--", "program", "--=", "--instance",
]


# Requests: (operation, flags, handles by index, words by place). Places count from the third word of the request: 6 is the
# first of what the operation brings along.
CONNECT, REQUEST, BYTES, CLOSE, SETTLE, INSIDE, INTRODUCE, CLOSE_CMD = range(8)
(DEVICE, ATTACH, DETACH, OPEN, CLOSE_CONTEXT, ADOPT, ALLOC_PD, DEALLOC_PD, USE_PD, REG_MR, REREG_MR, DEREG_MR, ALLOC_DM, FREE_DM,
 EXPORT_DM, ALLOC_DMAH, FREE_DMAH, REG_UMEM, DEREG_UMEM, QUERY, FETCH_FD, OBSERVE, OBJECTS) = range(23)
SMALL, HANDLE, PAGES, ANY = range(4)


def ask(op, how=0, context=1, handle=0, words=(), client=0):
    script = bytes([REQUEST, client, op, how, context, handle, len(words)])
    for place, kind, value in words:
        script += bytes([place | kind << 6]) + (struct.pack("<I", value) if kind == ANY else bytes([value]))
    return script


def control_scripts():
    # known[0]: of the attach; known[1]: the context; known[2]: the domain
    begin = bytes([CONNECT, 0, 0]) + ask(ATTACH, context=9) + ask(OPEN, context=9) + ask(ALLOC_PD)
    plain = [(6, PAGES, 1), (8, PAGES, 1), (10, PAGES, 1), (12, HANDLE, 2), (13, SMALL, 1), (14, SMALL, 15)]
    mapped = [(8, PAGES, 1), (12, HANDLE, 2), (13, SMALL, 3), (14, SMALL, 1)]
    arena = [(8, SMALL, 64), (12, HANDLE, 2), (13, SMALL, 2), (14, SMALL, 15), (15, HANDLE, 3)]
    yield "regions", begin + ask(REG_MR, words=plain) + ask(REREG_MR, handle=3, words=plain) + \
        bytes([INSIDE, 0x12]) + ask(DEREG_MR, handle=3) + ask(REG_MR, 3, words=mapped) + ask(FETCH_FD, handle=5)
    yield "device_memory", begin + ask(ALLOC_DM, words=[(6, PAGES, 2), (10, SMALL, 12)]) + ask(REG_MR, words=arena) + \
        ask(FREE_DM, handle=3) + ask(DEREG_MR, handle=4) + ask(FREE_DM, handle=3) + \
        ask(ALLOC_DM, words=[(6, PAGES, 255)]) + ask(EXPORT_DM, handle=3) + ask(OBJECTS) + ask(QUERY, handle=3)
    yield "hints", begin + ask(ALLOC_DMAH, words=[(6, SMALL, 7), (7, SMALL, 1)]) + ask(FREE_DMAH, handle=3) + \
        ask(REG_UMEM, words=[(8, PAGES, 2), (14, SMALL, 1)]) + \
        ask(REG_MR, words=[(8, PAGES, 1), (12, HANDLE, 2), (13, SMALL, 1), (17, HANDLE, 5)]) + \
        ask(DEREG_UMEM, handle=5) + ask(REG_UMEM, 3, words=[(8, PAGES, 2)]) + ask(USE_PD, handle=2, words=[(4, SMALL, 3)])
    yield "shared", begin + bytes([INTRODUCE, 0, 0, CONNECT, 1, 0]) + ask(ADOPT, client=1, context=3) + \
        ask(REG_MR, words=mapped, client=1) + bytes([CLOSE, 0, SETTLE, 3]) + ask(QUERY, client=1, handle=2) + \
        bytes([CLOSE_CMD, 0]) + ask(CLOSE_CONTEXT, client=1)
    yield "in_use", begin + ask(REG_MR, words=plain) + ask(DEALLOC_PD, handle=2) + ask(DEREG_MR, handle=3) + \
        ask(DEALLOC_PD, handle=2) + ask(CLOSE_CONTEXT)
    yield "bytes", begin + bytes([CONNECT, 1, 0x81, 8, 3, CONNECT, 2, 0, BYTES, 2, 20, 2]) + bytes(20) + \
        ask(ALLOC_DM, 4, words=[(6, PAGES, 200)]) + ask(ALLOC_DM, words=[(6, PAGES, 1)])
    for op in range(DEVICE, OBJECTS + 5):
        yield f"op_{op}", begin + ask(op, handle=2) + ask(op, 1)


def ring_scripts():
    put = bytes([0, 0x45, 100, 3, 0])
    other = bytes([0, 0x05, 200, 1, 1])
    look = bytes([2, 0, 1, 0, 0, 3])
    yield "two", b"\0" + (put + other + look) * 4
    yield "overrun", b"\0" + bytes([0, 0x45, 255, 255, 0]) * 8 + look
    yield "filler", b"\0" + bytes([0, 0x40, 255, 140, 0]) + look + put * 3 + look
    yield "wild", b"\0" + put + bytes([1, 0x60]) + struct.pack("<q", 120) + look + bytes([1, 6, 0, 30]) + bytes(30) + look
    yield "first_page", bytes([1, 5, 1]) + struct.pack("<II", 1, 65544) + put + look


class Corpus:
    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)

    def add(self, target, name, data):
        os.makedirs(os.path.join(self.folder, target), exist_ok=True)
        with open(os.path.join(self.folder, target, name), "wb") as f:
            f.write(data)


def add_wire(corpus, name, number, frame):
    v6, ip_id, port, packet = packet_of(frame)
    corpus.add("wire", f"{name}_{number}",
               struct.pack("<HHHB", ip_id, number, port, v6) + packet)
    corpus.add("framing", f"{name}_{number}", b"\0" + frame)


def datagrams(packets):
    """What recvmmsg() gives: each alone, and equal ones as a train."""
    singles = b"".join(struct.pack("<HBH", len(p), 0, 0) + p for p in packets[:8])
    equal = [p for p in packets if len(p) == len(packets[0])][:8]
    train = b"".join(equal)
    return b"\1\7" + singles + struct.pack("<HBH", len(train), 1, len(equal[0])) + train


def add_captures(corpus, folder):
    with open(os.path.join(folder, "cases.json"), encoding="utf-8") as f:
        cases = json.load(f)
    seen = set()
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".pcap"):
            continue
        name = file[:-5]
        all_frames = list(frames(os.path.join(folder, file)))
        packets = [packet_of(f)[3] for f in all_frames]
        for number, frame in enumerate(all_frames):
            packet = packets[number]
            if (packet[0], len(packet)) not in seen:
                seen.add((packet[0], len(packet)))
                add_wire(corpus, name, number, frame)
        corpus.add("framing", name, datagrams(packets))
        corpus.add("responder", name, requests(packets[:100]))
        if name.startswith("rc_"):
            corpus.add("requester", name, answers(packets[:100], cases.get(name, {})))


def add_scripts(corpus):
    for service in (0, 0x20, 0x60, 0xa0):
        ops = [service | op for op in range(0x18) if service != 0x60 or op in (4, 5)]
        corpus.add("responder", f"forged_{service:02x}", forged(ops, False))
        corpus.add("requester", f"forged_{service:02x}", forged(ops, True))
    corpus.add("responder", "intruders", intruders(False))
    corpus.add("requester", "intruders", intruders(True))
    for region, length in REGIONS.items():
        corpus.add("responder", f"borders_{region}", borders(region, length, False))
        corpus.add("requester", f"borders_{region}", borders(region, length, True))
    for name, script in control_scripts():
        corpus.add("control", name, script)
    for name, script in ring_scripts():
        corpus.add("ring", name, script)
    for number, text in enumerate(RULES):
        corpus.add("rules", str(number), text.encode() + RULE_PACKETS)
    for number, text in enumerate(SETTINGS):
        corpus.add("settings", str(number), text.encode())


def main():
    folder, stamp = sys.argv[1:]
    corpus = Corpus(os.path.join(os.path.dirname(stamp), "seeds"))
    add_captures(corpus, folder)
    add_scripts(corpus)
    with open(stamp, "w", encoding="utf-8"):
        pass


if __name__ == "__main__":
    main()
