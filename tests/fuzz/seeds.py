# SPDX-License-Identifier: MIT
"""Makes the seed corpora: packets of tests/wire as each target reads its input, and texts for those that read text.

usage: seeds.py WIRE_FOLDER STAMP     writes seeds/TARGET/NAME beside STAMP"""

import json
import os
import re
import shutil
import struct
import sys
from types import SimpleNamespace

from seeds_cm import manager_scripts

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ROCE_PORT = 4791


def enum(path, name, prefix):
    """The values of an enum in a C source, so that scripts follow its changes."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    body = re.search(r"enum %s \{(.*?)\}" % name, text, re.DOTALL)[1]
    values, value = SimpleNamespace(), 0
    for found in re.finditer(r"(\w+)\s*(?:=\s*(\d+))?\s*,", body):
        value = int(found[2]) if found[2] else value
        setattr(values, found[1].removeprefix(prefix), value)
        value += 1
    return values


SERVICE_QP = {0: 0, 1: 2, 3: 3, 5: 0}  # RC, UC, UD, XRC: which of the host's queue pairs a packet names
XRC_RECV, XRC_SEND = 4, 5  # and what is posted
ANSWERS = {0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12}
SENDS = {0x00, 0x04, 0x05, 0x09, 0x0b, 0x17}  # operations that take a receive
ACT = enum("tests/fuzz/script.h", "script_step", "STEP_")
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
    return struct.pack("<BBbH", ACT.BYTES, qp | flags, delta, len(packet)) + packet


def requests(packets):
    script = setup(packets, False)
    for packet in packets:
        if packet[0] & 0x1f in ANSWERS:
            continue
        if packet[0] & 0x1f in SENDS:
            script += struct.pack("<BBH", ACT.RECV, SERVICE_QP.get(packet[0] >> 5, 0), 2048)
        script += bytes_step(packet, flags=KEEP_PSN) + bytes([ACT.OUTPUT])
    return script


def answers(packets, case):
    """The requests that a capture's requester posted, and the responses to them."""
    of_wr = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 9: 7}
    script = setup(packets, False)
    for wr in case.get("requester did", [])[:16]:
        script += struct.pack("<BBBH", ACT.SEND, 0, of_wr.get(wr.get("op", 2), 2),
                              min(wr.get("length", 8), 0xfffc))
    script += bytes([ACT.OUTPUT])
    for packet in packets:
        if packet[0] & 0x1f in ANSWERS:
            script += bytes_step(packet, flags=KEEP_PSN) + bytes([ACT.OUTPUT])
        else:
            script += struct.pack("<BH", ACT.TIME, 20)
    return script


def forged(opcodes, answering):
    """One packet of each operation, at the PSN that is expected."""
    script = bytes([0, 2, 0x77, 0x2e]) + b"\xfe\xff\xff" * 2
    for opcode in opcodes:
        qp = SERVICE_QP[opcode >> 5]
        xrc = opcode >> 5 == 5
        if answering:
            op = {0x1c: 1 << 5, 0x1d: 2 << 5}.get(opcode & 0x1f, opcode % 8)
            script += struct.pack("<BBBH", ACT.SEND, XRC_SEND if xrc else qp, op, 600) + bytes([ACT.OUTPUT])
        else:
            script += struct.pack("<BBH", ACT.RECV, XRC_RECV if xrc else qp, 2000)
        feth = b"\3" if opcode & 0x1f == 0x1c else b""
        srq = b"\1" if xrc and opcode & 0x1f not in ANSWERS else b""
        place = bytes([1, 0, 0, 0x40, 0]) if opcode & 0x1f in (6, 0xa, 0xb, 0xc, 0x13, 0x14, 0x1c, 0x1d) else b""
        script += bytes([ACT.FORGED, qp | 8, opcode, 0]) + srq + feth + place + bytes([0x40, 0]) * 2
        script += bytes([ACT.OUTPUT])
    return script


# enum host_region, and how long each is; offsets reach 32 KiB.
REGIONS = {1: 70001, 2: 9999, 3: 65536, 4: 65536, 5: 70001, 6: 4096, 7: 4096, 8: 1001, 9: 4096, 10: 4096}
ERR, SQD, RTS, RESET, INIT, RTR = range(6)


def again_in(qp, *states):
    return b"".join(bytes([ACT.MODIFY, qp | state * 4]) for state in states)


def borders(region, length, rts):
    """Each kind of access to a region: inside, at its end, behind it, before it."""
    script = bytes([0, 2, 0x77, 0x2e]) + b"\x00\x01\x00" * 2
    for opcode in (0x0a, 0x0c, 0x13, 0x14, 0x1c, 0x1d, 0x2a):
        for offset, size in ((0, 8), (length - 8, 8), (length - 7, 8), (length, 1), (-1, 2), (0, length), (8, length)):
            qp = SERVICE_QP[opcode >> 5]
            offset = max(min(offset, 32767), -32768)
            place = struct.pack("<Bh", region, offset) if opcode in (0x13, 0x14) else \
                struct.pack("<BhH", region, offset, min(size, 0xfff0))
            feth = b"\3" if opcode == 0x1c else b""
            script += bytes([ACT.FORGED, qp | 8, opcode, 0]) + feth + place
            script += struct.pack("<HH", 1, 1) if opcode in (0x13, 0x14) else b""
            script += struct.pack("<H", min(size, 4096)) if opcode & 0x1f in (0x0a, 0x1d) else b""
            script += bytes([ACT.OUTPUT]) + again_in(qp, RESET, INIT, RTR, *([RTS] if rts else []))
    return script


STRANGER, BAD_ICRC, BAD_PKEY = 1 << 4, 1 << 5, 1 << 7


def intruders(rts):
    """Packets with a wrong sender, ICRC or key, to each kind of queue pair; receives that are too short."""
    script = bytes([0, 2, 0x77, 0x2e]) + b"\x00\x01\x00" * 2
    for flaw in (STRANGER, BAD_ICRC, BAD_PKEY):
        for opcode, qp in ((0x04, 0), (0x04, 1), (0x0a, 0), (0x24, 2), (0x2a, 2), (0x64, 3), (0x11, 0)):
            place = struct.pack("<BhH", 1, 0, 64) if opcode & 0x1f == 0x0a else b""
            parts = b"\1" if opcode == 0x64 else bytes([0, 1]) if opcode == 0x11 else b""
            script += struct.pack("<BBH", ACT.RECV, qp, 64)
            script += struct.pack("<BBBH", ACT.SEND, 0, 2, 64) + bytes([ACT.OUTPUT]) if rts else b""
            script += bytes([ACT.FORGED, qp | flaw, opcode, 0]) + place + parts
            script += struct.pack("<H", 64) if opcode != 0x11 else b""
            script += bytes([ACT.OUTPUT])
    for qp, opcode in ((0, 0x04), (2, 0x24), (3, 0x64)):
        script += struct.pack("<BBH", ACT.RECV, qp, 60)
        script += bytes([ACT.FORGED, qp, opcode, 0]) + (b"\1" if qp == 3 else b"") + struct.pack("<H", 64)
    return script


def deferred(rts):
    """Deferred memory, memory that is unmapped before the response arrives; a datagram to a group."""
    script = bytes([0x18, 2, 0x77, 0x2e]) + b"\x00\x01\x00" * 2
    write = bytes([ACT.FORGED, 8, 0x0a, 0]) + struct.pack("<BhHH", 1, 0, 64, 64)
    read = bytes([ACT.FORGED, 8, 0x0c, 0]) + struct.pack("<BhH", 1, 0, 64)
    add = bytes([ACT.FORGED, 8, 0x14, 0]) + struct.pack("<BhHH", 1, 0, 1, 1)
    wait = bytes([ACT.OUTPUT, ACT.TIME]) + struct.pack("<H", 3000)
    for packet in (write, read, add, bytes([ACT.RECV, 0, 64, 0, ACT.FORGED, 8, 4, 0, 64, 0])):
        script += bytes([ACT.DEFER, 1]) + packet + wait + packet + wait + bytes([ACT.DEFER, 0]) + packet + wait
    script += bytes([ACT.RECV, 3, 0, 1]) + struct.pack("<BBbH", ACT.BYTES, 3 | 1 << 6, 0, 36) + bytes([0x64, 0x40, 0xff, 0xff]) + bytes(32)
    if rts:
        answer = bytes([ACT.FORGED, 8, 0x10, 0, 0, 1]) + struct.pack("<H", 64)
        for before, after in ((bytes([ACT.DEFER, 1]), bytes([ACT.DEFER, 0])), (bytes([ACT.REVOKE, 4 | 16]), bytes([ACT.REVOKE, 4]))):
            script += struct.pack("<BBBH", ACT.SEND, 0, 4, 64) + bytes([ACT.OUTPUT]) + before + answer + wait + after + wait + answer
            script += again_in(0, RESET, INIT, RTR, RTS)
        script += bytes([ACT.DEFER, 1]) + struct.pack("<BBBH", ACT.SEND, 0, 2, 64) + wait + bytes([ACT.DEFER, 0]) + wait
        script += struct.pack("<BBBH", ACT.SEND, 0, 2, 64) + wait * 4
    return script


def neighbors():
    """Solicitations in ARP and neighbor discovery; a script of neighbors' claims."""
    us, them = b"\x02\0\0\0\0\x09", b"\x02\0\0\0\0\x05"
    for op in (1, 2, 3):
        arp = struct.pack(">HHBBH", 1, 0x800, 6, 4, op) + them + bytes([127, 0, 0, 5]) + bytes(6) + bytes([127, 0, 0, 9])
        yield f"arp_{op}", b"\0" + b"\xff" * 6 + them + b"\x08\x06" + arp
        yield f"arp_nameless_{op}", b"\0" + b"\xff" * 6 + them + b"\x08\x06" + arp[:14] + bytes(4) + arp[18:]
    for kind, option in ((135, 1), (136, 2)):
        for tail in (bytes([option, 1]) + them, b"", bytes([9, 1]) + bytes(6) + bytes([option, 1]) + them, bytes([option, 0]) + them,
                     bytes([option, 9]) + them):
            target = b"\xfd" + bytes(14) + b"\x09"
            icmp = bytes([kind, 0, 0, 0, 0x60, 0, 0, 0]) + target + tail
            ip = b"\x60\0\0\0" + struct.pack(">HBB", len(icmp), 58, 255) + b"\xfd" + bytes(14) + b"\x05" + target
            yield f"nd_{kind}_{len(tail)}_{tail[1:2].hex()}", b"\x10" + us + them + b"\x86\xdd" + ip + icmp
            yield f"nd_nameless_{kind}_{len(tail)}_{tail[1:2].hex()}", b"\x10" + us + them + b"\x86\xdd" + ip[:8] + bytes(16) + ip[24:] + icmp
    find, tell, asked, heard, soon, much_later = 0, 1, 5, 9, 2, 3
    yield "table", b"\x08" + bytes([find, 1, tell, 1, 7, find, 1, heard, 1, 8, find, 1, much_later, 9, find, 1, soon, 30, soon, 30, soon, 30,
                                    soon, 30, soon, 30, find, 1, asked, 2, 3, heard, 3, 4, find, 3, find, 2])
    yield "full_table", b"\x08" + b"".join(bytes([op, who]) + (b"\5" if op else b"") for op in (find, heard, tell) for who in range(250))


# enum host_qp_name, and the service whose packets it takes.
GOING = {"rc": (0, 0), "rc_srq": (1, 0), "uc": (2, 1), "ud": (3, 3), "xrc": (5, 5)}
LONG = 8  # a flag of ACT.DESTROY: four seconds, times the bits above it


def forge(name, opcode, delta=0, flags=0, length=8):
    qp, service = GOING[name]
    script = bytes([ACT.FORGED, (0 if service == 5 else qp) | 8 | flags, service << 5 | opcode, delta & 0xff])
    script += b"\1" if service in (3, 5) else b""
    if opcode in (0x13, 0x14):
        return script + bytes([1, 0, 0, 5, 0, 1, 0])
    if opcode in (0x0a, 0x0c):
        script += struct.pack("<BHH", 1, 0, length)
    return script + (struct.pack("<H", length) if opcode != 0x0c else b"")


def spoil(record, at, data, count=None):
    which = record | (0x80 if count is not None else 0)
    head = struct.pack("<BBHB", ACT.SPOIL, which, at, len(data))
    return head + (struct.pack("<I", count) if count is not None else b"") + data


def going(name):
    """Duplicates for a destroyed queue pair, new requests, duplicates after it is created again, and after TIME_WAIT."""
    qp = GOING[name][0]
    begin = bytes([0, 2, 0x77, 0x2e]) + b"\xfe\xff\xff" * 2
    begin += b"".join(struct.pack("<BBH", ACT.RECV, XRC_RECV if qp == 5 else qp, 100) for _ in range(4))
    begin += forge(name, 4) + forge(name, 0x14) + forge(name, 0x0a) + forge(name, 0x13) + forge(name, 0x0c)
    begin += bytes([ACT.OUTPUT])
    destroy = bytes([ACT.DESTROY, qp])
    again = forge(name, 4, -5) + forge(name, 0x14, -4) + forge(name, 0x14, -5) + forge(name, 0x13, -2) + forge(name, 0x0a, -3) + \
        forge(name, 0x0c, -1) + forge(name, 4) + forge(name, 4, 1) + forge(name, 4, -1, STRANGER) + forge(name, 4, -1, BAD_ICRC) + \
        forge(name, 4, -1, BAD_PKEY)
    half = forge(name, 0) + bytes([ACT.OUTPUT])
    yield "again", begin + destroy + again + bytes([ACT.OUTPUT]) + again + bytes([ACT.OUTPUT])
    yield "after_time_wait", begin + destroy + bytes([ACT.DESTROY, LONG | 0x80]) + again + bytes([ACT.OUTPUT])
    yield "created_again", begin + destroy + again + destroy + again + bytes([ACT.OUTPUT]) + destroy + again + bytes([ACT.OUTPUT])
    yield "half", begin + half + destroy + forge(name, 0, -1) + forge(name, 1) + bytes([ACT.OUTPUT])
    yield "many", begin + destroy + forge(name, 0x14, -4) * 40 + bytes([ACT.OUTPUT]) + forge(name, 4, -5) * 40
    yield "failed", begin + forge(name, 2, 0) + destroy + again + bytes([ACT.OUTPUT])
    yield "wild", begin + destroy + spoil(0, 4, bytes(range(250, 255)) * 3) + again + bytes([ACT.OUTPUT]) + \
        spoil(0, 4, struct.pack("<III", 0x20100 + qp, 0xffffffff, 0xffffffff), 0xffffffff) + again + bytes([ACT.OUTPUT]) + \
        spoil(0, 0, struct.pack("<III", 0x10100 + qp, 1, 0), 0) + again


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
    "@--output=x\n--quiet", "@--output", "@--output\ny\n--arena=1M", "!--help", "@--help", "!--arena=1M", "!--instance=a",
    "--unknown=3", "--instance=" + "x" * 33, "--", "program", "--=", "--instance",
]


# Requests: (operation, flags, handles by index, words by place). Places count from the third word of the request: 6 is the
# first of the operation's own.
STEP = enum("tests/fuzz/control.c", "step", "STEP_")
OP = enum("lib/control/protocol.h", "ctl_op", "CTL_")
KIND = enum("lib/control/protocol.h", "ctl_kind", "CTL_KIND_")
CM = enum("lib/control/cm_request.h", "ctl_cm_op", "CTL_CM_")
SMALL, HANDLE, PAGES, ANY = range(4)


def ask(op, how=0, context=1, handle=0, words=(), client=0):
    script = bytes([STEP.REQUEST, client, op - 1, how, context, handle, len(words)])
    for place, kind, value in words:
        script += bytes([place | kind << 6]) + (struct.pack("<I", value) if kind == ANY else bytes([value]))
    return script


def free(kind, how=0, context=1, handle=0, client=0):
    return ask(OP.FREE, how, context, handle, [(6, SMALL, kind)], client)


def fault(text, what=0, back=0, client=0, how=0):
    data = text.encode()[:255]
    return bytes([STEP.FAULT, client, how, what, back, len(data)]) + data


def fault_file(text):
    return bytes([STEP.FAULT_FILE]) + struct.pack("<H", len(text)) + text.encode()


ADD, REMOVE, CLEAR, UNKNOWN, UNENDED = 0, 1, 2, 3, 4
PACKET_BAD_ICRC, PACKET_BAD_KEY, PACKET_BYTES = 2, 4, 8
RECORD_XRC, RECORD_SRC, RECORD_WILD, RECORD_MANY, RECORD_DST = 2, 4, 8, 16, 32


def record(place=2, flags=0, ages=20, dest=1, psn=0, step=STEP.RECORD):
    if flags & RECORD_WILD:
        return bytes([step, 0, flags, place, ages]) + struct.pack("<8I", *([0xff000001] * 8))
    return bytes([step, 0, flags, place, ages, dest, psn & 0xff, 0, 0, 0, 1, 2, 3])


def delayed(place=2, flags=0, ages=20):
    return record(place, flags, ages, step=STEP.DELAYED)


def packet(opcode, qpn=2, delta=-1, flags=0):
    return bytes([STEP.PACKET, 0, flags, opcode, qpn, delta & 0xff, 8])


def fault_scripts():
    begin = bytes([STEP.CONNECT, 0, 0]) + ask(OP.ATTACH, context=9) + ask(OP.OPEN, context=9)
    rules = [rule for text in RULES for rule in text.split("\n") if rule]
    for first in range(0, len(rules), 6):
        some = rules[first:first + 6]
        yield f"faults_{first}", begin + b"".join(fault(rule) for rule in some) + bytes([STEP.SETTLE, 200]) + \
            fault("", REMOVE) + fault("", REMOVE, 2) + fault("", REMOVE) + bytes([STEP.SETTLE, 200]) + fault("", CLEAR)
    down = ["port_down time=200ms", "gid_change gid=none", "device_fatal after=20us time=1s", "gid_change index=0 to=3",
            "port_down after=500ms", "gid_change index=3 gid=::ffff:127.0.0.1 time=1s"]
    yield "faults_overlap", begin + b"".join(fault(rule) + bytes([STEP.SETTLE, 10]) for rule in down) + \
        b"".join(bytes([STEP.SETTLE, 30]) + fault("", REMOVE, n) for n in (5, 0, 3, 1, 4, 2))
    yield "faults_full", begin + fault("drop") * 34 + fault("", CLEAR) + fault("drop", UNKNOWN)
    bad = ["", " ", "drop opcode=", "nak code=99", "verb name=* errno=99999", "drop\nport_down", "\x1b[2J", "drop psn=1..", "x" * 255,
           "completion status=0", "gid_change index=16", "port_down nth=3", "drop # not here", "delay time=99999999999999999999s"]
    yield "faults_bad", begin + b"".join(fault(text) for text in bad) + fault("drop" + " " * 250, ADD | UNENDED) + \
        fault("drop", how=16)
    yield "faults_file", fault_file("\n".join(rules)) + bytes([STEP.CONNECT, 0, 0]) + fault("", REMOVE) + fault_file("drop\n" * 40)
    yield "faults_bad_file", fault_file("drop\nport_down\nbad\n") + fault_file("") + fault_file("#\n\n \n") + \
        fault_file("drop opcode=\x1b[31m\r") + fault_file("drop\0") + fault_file("delay time=1s")
    yield "faults_left", begin + fault("port_down") + fault("gid_change gid=fe80::1") + bytes([STEP.CLOSE, 0, STEP.SETTLE, 9])


def slot_scripts():
    begin = bytes([STEP.CONNECT, 0, 0]) + ask(OP.ATTACH, context=9) + ask(OP.OPEN, context=9)
    leave = bytes([STEP.CLOSE, 0, STEP.SETTLE, 1])
    packets = b"".join(packet(op) for op in (0x04, 0x0a, 0x0c, 0x11, 0x24, 0xa4)) + packet(0x14, delta=-2) + packet(0x13, delta=-1) + \
        packet(0x04, delta=0) + packet(0x04, 3) + packet(0x04, flags=PACKET_BAD_ICRC) + packet(0x04, flags=PACKET_BAD_KEY) + \
        packet(0x04, flags=1) + bytes([STEP.PACKET, 0, PACKET_BYTES, 20]) + bytes(20) + bytes([STEP.PACKET, 0, PACKET_BYTES, 3, 1, 2, 3])
    capture = ask(OP.CAPTURE, words=[(6, PAGES, 16), (7, SMALL, 100), (8, SMALL, 1)], client=1)
    look = bytes([STEP.CONNECT, 1, 1]) + capture
    yield "records", begin + record() + leave + packets
    yield "records_xrc", begin + record(flags=RECORD_XRC) + leave + packets
    yield "records_elsewhere", begin + record(flags=1) + record(3, RECORD_SRC) + b"\1" + leave + packets
    yield "records_wild", begin + record() + record(3, RECORD_WILD) + record(4, RECORD_MANY, 255) + leave + packets
    yield "records_expired", begin + record(ages=1) + leave + packets + bytes([STEP.SETTLE, 255]) + packets
    yield "records_inherited", begin + record() + leave + packets + begin * 3 + packets + leave
    yield "records_silent", begin + record() + delayed() + fault("port_down time=1s") + leave + packets + bytes([STEP.SETTLE, 120]) + packets
    yield "records_captured", look + begin + record() + delayed() + leave + packets + bytes([STEP.CAPTURED, 1, 0, 0, 16]) + \
        bytes([255] * 16) + packets + bytes([STEP.CAPTURED, 0, 0, 0, 30]) + bytes([255] * 30) + packets + bytes([STEP.CLOSE, 1]) + packets
    yield "delayed", begin + delayed() + delayed(3, RECORD_XRC) + delayed(4, ages=0) + leave + packets
    yield "delayed_elsewhere", begin + delayed(flags=1) + delayed(3, RECORD_SRC) + b"\1" + delayed(4, RECORD_DST) + b"\x0d\1" + \
        delayed(5, RECORD_DST) + b"\x0a\xff" + delayed(6, RECORD_DST) + b"\x0c\x9f" + leave + packets
    yield "delayed_wild", begin + delayed(2, RECORD_WILD) + delayed(3, ages=255) + delayed(4) + record(4) + leave + packets + begin + leave
    for part in range(8):
        yield f"spoiled_{part}", begin + bytes([STEP.SPOIL, 0, part, 0, 0, 31]) + bytes([255] * 31) + fault("drop") + leave + packets
    yield "capture", look + capture + ask(OP.CAPTURE, words=[(6, PAGES, 15)], client=1) + bytes([STEP.CLOSE, 1]) + \
        bytes([STEP.CONNECT, 2, 1]) + ask(OP.CAPTURE, words=[(6, PAGES, 32), (7, SMALL, 1)], client=2) + begin


def xrcd_scripts():
    begin = bytes([STEP.CONNECT, 0, 0]) + ask(OP.ATTACH, context=9) + ask(OP.OPEN, context=9)
    create, exclusive, unknown = [(6, SMALL, 1)], [(6, SMALL, 3)], [(6, SMALL, 4)]
    yield "xrcd", begin + ask(OP.OPEN_XRCD) + ask(OP.OPEN_XRCD, words=create) + ask(OP.OPEN_XRCD, words=create) + ask(OP.QUERY, handle=3) + \
        free(KIND.XRCD, handle=2) + free(KIND.XRCD, handle=2) + free(KIND.XRCD, handle=1) + ask(OP.OPEN_XRCD, words=unknown)
    target = [(6, HANDLE, 2), (7, PAGES, 16)]
    yield "xrc_target", begin + ask(OP.OPEN_XRCD, words=create) + ask(OP.OPEN_QP, words=target) + ask(OP.OPEN_QP, words=target + [(8, SMALL, 1)]) * 2 + \
        ask(OP.OPEN_QP, words=target) + ask(OP.OBJECTS) + free(KIND.QP, handle=3) + free(KIND.XRCD, handle=2) + ask(OP.OPEN_QP, words=target) + ask(OP.CLOSE)
    yield "xrcd_of_a_file", begin + ask(OP.OPEN_XRCD, 1) + ask(OP.OPEN_XRCD, 1, words=exclusive) + ask(OP.OPEN_XRCD, 1, words=exclusive) + \
        ask(OP.OPEN_XRCD, 1, words=create) + ask(OP.OPEN_XRCD, 1) + ask(OP.OPEN_XRCD, 3, words=create) + ask(OP.OBJECTS) + \
        free(KIND.XRCD, handle=2) + ask(OP.OPEN_XRCD, 1) + ask(OP.ALLOC_PD) + ask(OP.CLOSE)
    other = bytes([STEP.CONNECT, 1, 0]) + ask(OP.OPEN, context=9, client=1)
    yield "xrcd_of_two", begin + ask(OP.OPEN_XRCD, 1, words=create) + other + ask(OP.OPEN_XRCD, 1, context=3, client=1) + \
        free(KIND.XRCD, context=3, handle=2, client=1) + bytes([STEP.CLOSE, 0, STEP.SETTLE, 1]) + ask(OP.OPEN_XRCD, 1, context=3, client=1) + \
        ask(OP.OPEN_XRCD, 3, context=3, client=1) + ask(OP.OPEN_XRCD, 3, context=3, words=create, client=1)


def control_scripts():
    yield from manager_scripts(STEP, CM)
    yield from fault_scripts()
    yield from slot_scripts()
    yield from xrcd_scripts()
    # known[0]: of the attach; known[1]: the context; known[2]: the domain
    begin = bytes([STEP.CONNECT, 0, 0]) + ask(OP.ATTACH, context=9) + ask(OP.OPEN, context=9) + ask(OP.ALLOC_PD)
    plain = [(6, PAGES, 1), (8, PAGES, 1), (10, PAGES, 1), (12, HANDLE, 2), (13, SMALL, 1), (14, SMALL, 15)]
    arena = [(8, SMALL, 64), (12, HANDLE, 2), (13, SMALL, 2), (14, SMALL, 15), (15, HANDLE, 3)]
    yield "regions", begin + ask(OP.REG_MR, words=plain) + ask(OP.REREG_MR, handle=3, words=plain) + \
        bytes([STEP.INSIDE, 0x12]) + free(KIND.MR, handle=3) + ask(OP.REG_MR, 3, words=plain) + ask(OP.QUERY, handle=5)
    yield "device_memory", begin + ask(OP.ALLOC_DM, words=[(6, PAGES, 2), (10, SMALL, 12)]) + ask(OP.REG_MR, words=arena) + \
        free(KIND.DM, handle=3) + free(KIND.MR, handle=4) + free(KIND.DM, handle=3) + \
        ask(OP.ALLOC_DM, words=[(6, PAGES, 255)]) + ask(OP.EXPORT_DM, handle=3) + ask(OP.OBJECTS) + ask(OP.QUERY, handle=3)
    yield "hints", begin + ask(OP.ALLOC_DMAH, words=[(6, SMALL, 7), (7, SMALL, 1)]) + free(KIND.DMAH, handle=3) + \
        ask(OP.REG_UMEM, words=[(8, PAGES, 2), (14, SMALL, 1)]) + \
        ask(OP.REG_MR, words=[(8, PAGES, 1), (12, HANDLE, 2), (13, SMALL, 1), (17, HANDLE, 5)]) + \
        free(KIND.UMEM, handle=5) + ask(OP.REG_UMEM, 3, words=[(8, PAGES, 2)]) + ask(OP.USE_PD, handle=2, words=[(4, SMALL, 3)])
    yield "shared", begin + bytes([STEP.INTRODUCE, 0, 0, STEP.CONNECT, 1, 0]) + ask(OP.ADOPT, client=1, context=3) + \
        ask(OP.ATTACH, context=9, client=1) + ask(OP.REG_MR, words=plain, client=1) + bytes([STEP.CLOSE, 0, STEP.SETTLE, 3]) + ask(OP.QUERY, client=1, handle=2) + \
        bytes([STEP.CLOSE_CMD, 0]) + ask(OP.CLOSE, client=1)
    yield "no_slot", b"".join(bytes([STEP.CONNECT, n, 0]) + ask(OP.ATTACH, context=9, client=n) for n in range(4)) + bytes([STEP.CLOSE, 1]) + \
        ask(OP.ATTACH, context=9, client=3)
    umem = ask(OP.REG_UMEM, words=[(8, PAGES, 2), (14, SMALL, 15)])
    over_umem = [(8, PAGES, 1), (12, HANDLE, 2), (13, SMALL, 1), (14, SMALL, 15), (17, HANDLE, 3)]
    # A region whose key names a slot without a process: over the umem of a process that left its slot.
    yield "region_without_a_slot", begin + umem + ask(OP.DETACH, context=9) + ask(OP.REG_MR, words=over_umem)
    yield "region_over_memory_that_left", begin + umem + bytes([STEP.INTRODUCE, 0, 0, STEP.CONNECT, 1, 0]) + \
        ask(OP.ADOPT, client=1, context=4) + ask(OP.ATTACH, context=9, client=1) + ask(OP.DETACH, context=9) + \
        ask(OP.REG_MR, words=over_umem, client=1)
    other = bytes([STEP.CONNECT, 1, 0]) + ask(OP.ATTACH, context=9, client=1)
    yield "inside", begin + other + ask(OP.REG_MR, words=plain) + bytes([STEP.INSIDE, 0x11]) + ask(OP.REREG_MR, handle=4, words=plain) + \
        free(KIND.MR, 4, handle=4) + bytes([STEP.SETTLE, 2, STEP.INSIDE, 0x01, STEP.SETTLE, 20]) + free(KIND.MR, handle=5) + ask(OP.REG_MR, words=plain) + \
        bytes([STEP.INSIDE, 0x11]) + free(KIND.MR, 4, handle=6) + bytes([STEP.CLOSE, 0, STEP.SETTLE, 1])
    yield "inside_device_memory", begin + other + ask(OP.ALLOC_DM, words=[(6, PAGES, 200)]) + bytes([STEP.INSIDE, 0x11]) + free(KIND.DM, handle=4) + \
        ask(OP.ALLOC_DM, 4, words=[(6, PAGES, 200)]) + bytes([STEP.SETTLE, 5, STEP.INSIDE, 1, STEP.SETTLE, 5])
    long = [(6, ANY, 0x108000)]
    yield "long_device_memory", begin + ask(OP.ALLOC_DM, words=long) + free(KIND.DM, handle=3) + ask(OP.ALLOC_DM, 4, words=long) + \
        ask(OP.QUERY, handle=2) + bytes([STEP.CONNECT, 0, 0]) + ask(OP.OPEN, context=9) + ask(OP.ALLOC_DM, 4, context=5, words=long) + bytes([STEP.CLOSE, 0])
    yield "in_use", begin + ask(OP.REG_MR, words=plain) + free(KIND.PD, handle=2) + free(KIND.MR, handle=3) + \
        free(KIND.PD, handle=2) + ask(OP.CLOSE)
    yield "bytes", begin + bytes([STEP.CONNECT, 1, 0x81, 8, 3, STEP.CONNECT, 2, 0, STEP.BYTES, 2, 20, 2]) + bytes(20) + \
        ask(OP.ALLOC_DM, 4, words=[(6, PAGES, 200)]) + ask(OP.ALLOC_DM, words=[(6, PAGES, 1)])
    for op in range(OP.DEVICE, OP.OP_END):
        yield f"op_{op}", begin + ask(op, handle=2) + ask(op, 1)


SHOW_SLOT, SHOW_KEPT, SHOW_FAILURE, SHOW_OBJECT, SHOW_INFO = range(5)


def block(at, data):
    return struct.pack("<HB", at, len(data)) + data


def show_scripts():
    def slot(part, at, data, number=1):
        return bytes([SHOW_SLOT, number, 9, part]) + block(at, data)

    def failure(status, opcode, why=120, place=1, packets=16):
        return bytes([SHOW_FAILURE, 1, 9, place, why, status, 2, packets]) + bytes([60, opcode, 0x61, 255]) * packets

    yield "programs", slot(0, 28, b"a program\0") + slot(0, 16, bytes([3, 0, 0, 0] * 3)) + slot(0, 28, b"\xff\xfe\x80 not text!!!!", 2)
    yield "escapes", slot(0, 28, b"\x1b[2Jhello\n\r\x7f\x07") + failure(12, 4, why=27) + failure(12, 4, why=10, place=2)
    yield "failures", b"".join(failure(n, n * 11 % 256, 97, n, n) for n in range(24))
    yield "counts", slot(3, 0, bytes([255] * 4)) + slot(3, 0, bytes([0, 0, 0, 128]), 2) + bytes([SHOW_KEPT]) + block(0, bytes([255] * 40))
    yield "queue_pairs", slot(2, 0, struct.pack("<8I", 0x10002, 2, 3, 5, 0x20003, 1024, 0xffffff, 7) * 6) + \
        slot(2, 0, bytes([255] * 250), 3)
    yield "kept", bytes([SHOW_KEPT]) + block(0, struct.pack("<II", 5, 0)) + bytes([SHOW_KEPT]) + block(8, bytes(range(1, 250)))
    yield "objects", b"".join(bytes([SHOW_OBJECT]) + block(0, struct.pack("<4I", 7 * kind, kind, 7, 14) + bytes([kind * 9] * 80))
                              for kind in range(8))
    yield "device", bytes([SHOW_INFO]) + block(0, bytes([255] * 255)) + bytes([SHOW_INFO]) + block(255, bytes([1] * 120))


def memory_scripts():
    """A byte that makes arrivals complete, then steps: 0 sends, 1 and 2 write anything, 3 and 4 receive, 5 waits, 6 replaces."""
    def send(to, segs, length):
        return bytes([0, to, segs - 1, (length - 16) // 16])

    def word(kind, value, to=0):
        return bytes([1, 0x80 | kind << 2 | to]) + value.to_bytes(8, "little")

    def write(at, *data, to=0):
        return bytes([1, 0x40 | 6 << 2 | to]) + (at % 65536).to_bytes(2, "little") + bytes([len(data)]) + bytes(data)

    receive, wait = bytes([3]), bytes([5])
    trains = send(0, 3, 64) + send(0, 20, 2064) + send(1, 1, 16)
    yield "trains", b"\0" + trains + wait + receive * 3 + trains + wait + receive + bytes([4])
    yield "complete", b"\1" + trains + receive * 2
    yield "full", b"\0" + send(0, 20, 3200) * 8 + receive
    for what in range(8):
        yield f"replaced{what}", b"\0" + trains + bytes([6, what]) + trains + receive * 2 + bytes([6, what ^ 1]) + trains + receive * 3
    for kind in (0, 1, 2, 6):
        for value in (1, 64, 1 << 18, 1 << 40, (1 << 64) - 64):
            yield f"position{kind}_{value}", b"\0" + trains + word(kind, value) + receive + trains + wait + receive
    yield "record", b"\0" + send(0, 3, 64) + write(0, *(200).to_bytes(4, "little"), 100, 0, 2, 0) + word(1, 320) + receive
    yield "length", b"\0" + send(0, 3, 64) + write(0, *(1 << 31).to_bytes(4, "little"), 100, 0, 2, 0) + word(1, 320) + receive
    yield "groups", b"\0" + word(5, 1 << 31) + send(0, 1, 64) + word(3, 1) + receive + bytes([4])


def ring_scripts():
    put = bytes([0, 0x45, 100, 3, 0])
    other = bytes([0, 0x05, 200, 1, 1])
    look = bytes([2, 0, 1, 0, 0, 3])
    yield "two", b"\0" + (put + other + look) * 4
    yield "overrun", b"\0" + bytes([0, 0x45, 255, 255, 0]) * 8 + look
    yield "filler", b"\0" + bytes([0, 0x40, 255, 140, 0]) + look + put * 3 + look
    yield "wild", b"\0" + put + bytes([1, 0x60]) + struct.pack("<q", 120) + look + bytes([1, 6, 0, 30]) + bytes(30) + look
    yield "first_page", bytes([1, 5, 1]) + struct.pack("<II", 1, 65544) + put + look


def cm_scripts(folder):
    """Exchanges of the connection manager with itself: each call, then what it sent comes back. And the MADs of Linux's."""
    step = enum("tests/fuzz/cm.c", "step", "STEP_")
    do = enum("tests/fuzz/cm.c", "call", "CALL_")

    def call(slot, what, *parts):
        return bytes([step.CALL, slot, what, *parts])

    def sent(which=0, in_event=0):
        return bytes([step.SENT | in_event << 3, which])

    def wait(count, shift):
        return bytes([step.TIME]) + struct.pack("<HB", count, shift)
    later = wait(1000, 20)
    listen = call(0, do.CREATE) + call(0, do.LISTEN, 0, 0) + call(1, do.CREATE)
    req = listen + call(1, do.REQ, 0, 0, 0, 1, 0, 2, 14, 10)
    rep = req + sent() + call(2, do.REP, 0, 0, 2, 0)
    rtu = rep + sent() + call(1, do.RTU, 0, 0)
    up = rtu + sent()
    dreq = up + call(1, do.DREQ, 0, 0)
    down = dreq + sent() + call(2, do.DREP, 0, 0) + sent()
    yield "common", down + later
    yield "duplicates", req + sent() * 2 + call(2, do.REP, 0, 0, 2, 0) + sent(1) + sent() * 2 + call(1, do.RTU, 0, 0) + sent(1) + sent() * 3 + later
    yield "timeouts", req + later * 4 + rep[len(listen):] + later * 20
    yield "mra", req + sent() + call(2, do.MRA, 0, 0, 20) + sent() + call(2, do.REP, 0, 0, 2, 0) + sent() + call(1, do.DEFER, 20) + later + sent() + later
    yield "refused", req + sent() + call(2, do.REJ, 0, 0, 28, 0) + sent() + later + rep + call(1, do.REJ, 0, 0, 77, 0) + sent() + later
    yield "withdrawn", rep + call(2, do.REJ, 0, 0, 28, 0) + sent(1) + call(1, do.RTU, 0, 0) + sent() + later * 3
    yield "both", dreq + call(2, do.DREQ, 0, 0) + sent(1) + sent(1) + sent() + later
    yield "stale", up + call(3, do.CREATE) + call(3, do.REQ, 0, 0, 0, 1, 0, 2, 14, 10) + sent() * 2 + sent(1) + later * 8
    yield "sidr", listen + call(1, do.SIDR_REQ, 0, 0, 0) + sent() * 2 + call(2, do.SIDR_REP, 0, 0, 0) + sent() + sent(1) + wait(60000, 20)
    for name, script in ("req", req), ("rep", rep), ("rtu", rtu), ("up", up), ("dreq", dreq), ("down", down):
        for slot in (1, 2):
            yield f"left_{name}_{slot}", script + call(slot, do.DESTROY) + (sent() + sent(1) + later) * 3
    for name, what in vars(do).items():
        yield f"in_event_{name}", req + sent(0, what) + sent(0, what) + later
    forged = b"".join(bytes([step.FORGED, 0, slot, kind]) + bytes(8) for slot in (1, 2) for kind in range(11))
    yield "forged", up + forged + later
    yield "forged_early", rep + forged + later
    for file in sorted(os.listdir(folder)):
        packets = [packet_of(f)[3] for f in frames(os.path.join(folder, file))] if file.startswith("cm_") else []
        for number, packet in enumerate(packets):
            if packet[0] == 0x64 and len(packet) == 12 + 8 + 256 + 4:
                yield f"{file[:-5]}_{number}", bytes([step.BYTES, 0]) + packet[20:276]


class Corpus:
    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)

    def add(self, target, name, data):
        os.makedirs(os.path.join(self.folder, target), exist_ok=True)
        with open(os.path.join(self.folder, target, name), "wb") as f:
            f.write(data)


def add_raw(corpus, name, frame):
    """A frame, tagged, and in each tunnel that flow rules know."""
    def outer(proto, payload):
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, proto, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
        return frame[:12] + b"\x08\0" + ip + payload

    def udp(port, payload):
        return outer(17, struct.pack(">HHHH", 999, port, 8 + len(payload), 0) + payload)
    label = struct.pack(">I", 77 << 12 | 1 << 8 | 64)
    for kind, seed in (("plain", frame), ("tagged", frame[:12] + b"\x81\0\x61\x23" + frame[12:]),
                       ("vxlan", udp(4789, struct.pack(">II", 8 << 24, 77 << 8) + frame)), ("mpls", udp(6635, label + frame[14:])),
                       ("gre", outer(47, struct.pack(">HHI", 0x2000, 0x6558, 5) + frame)),
                       ("esp", outer(50, struct.pack(">II", 1, 2) + frame[14:]))):
        corpus.add("raw", f"{name}_{kind}", b"\1" + seed)


def add_wire(corpus, name, number, frame):
    v6, ip_id, port, packet = packet_of(frame)
    corpus.add("wire", f"{name}_{number}",
               struct.pack("<HHHB", ip_id, number, port, v6) + packet)
    corpus.add("framing", f"{name}_{number}", b"\0" + frame)
    add_raw(corpus, f"{name}_{number}", frame)


def datagrams(packets):
    """Datagrams as recvmmsg() returns them: each alone, and equal ones as a train."""
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


def add_scripts(corpus, folder):
    for service in (0, 0x20, 0x60, 0xa0):
        ops = [service | op for op in (*range(0x18), 0x1c, 0x1d) if service != 0x60 or op in (4, 5)]
        corpus.add("responder", f"forged_{service:02x}", forged(ops, False))
        corpus.add("requester", f"forged_{service:02x}", forged(ops, True))
    for name in GOING:
        for what, script in going(name):
            corpus.add("responder", f"going_{name}_{what}", script)
    corpus.add("responder", "intruders", intruders(False))
    corpus.add("requester", "intruders", intruders(True))
    for region, length in REGIONS.items():
        corpus.add("responder", f"borders_{region}", borders(region, length, False))
        corpus.add("requester", f"borders_{region}", borders(region, length, True))
    corpus.add("responder", "deferred", deferred(False))
    corpus.add("requester", "deferred", deferred(True))
    for name, script in cm_scripts(folder):
        corpus.add("cm", name, script)
    for name, script in neighbors():
        corpus.add("framing", name, script)
    for name, script in control_scripts():
        corpus.add("control", name, script)
    for name, script in show_scripts():
        corpus.add("show", name, script)
    for name, script in ring_scripts():
        corpus.add("ring", name, script)
    for name, script in memory_scripts():
        corpus.add("memory", name, script)
    for number, text in enumerate(RULES):
        corpus.add("rules", str(number), text.encode() + RULE_PACKETS)
    for number, text in enumerate(SETTINGS):
        corpus.add("settings", str(number), text.encode())


def main():
    folder, stamp = sys.argv[1:]
    corpus = Corpus(os.path.join(os.path.dirname(stamp), "seeds"))
    add_captures(corpus, folder)
    add_scripts(corpus, folder)
    with open(stamp, "w", encoding="utf-8"):
        pass


if __name__ == "__main__":
    main()
