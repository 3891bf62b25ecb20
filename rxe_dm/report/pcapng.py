# SPDX-License-Identifier: MIT
"""Reads RoCEv2 packets from a pcapng file (draft-ietf-opsawg-pcapng) with Ethernet frames, and what the comments of
`rxe_dm capture` say about them. A last block that is not whole is left out, as Wireshark does."""

import functools
import ipaddress
import re
import struct

SECTION, INTERFACE, STATISTICS, PACKET = 0x0a0d0d0a, 1, 5, 6
COMMENT, FLAGS, DROPPED, RESOLUTION, DROPPED_TOTAL = 1, 2, 4, 9, 5
ETHERNET, ETH_LEN, UDP_LEN, UDP, ROCE_PORT = 1, 14, 8, 17, 4791
BTH_LEN = 12
# Notes of packets that the server sends: no rule is in them.
OF_SERVER = ("sent by the connection manager", "sent by the server for a process that has exited")
COMMENT_FORM = re.compile(r"(?P<comm>.*?)\[(?P<pid>-?\d+)\](?: QP 0x(?P<qpn>[0-9a-f]+) (?P<type>\w+|\?))?(?:, (?P<request>[^;]*))?"
                          r"(?:; (?P<note>.*))?", re.DOTALL)


class NotACapture(Exception):
    """The file is no capture that this program reads."""


class Packet:
    """One RoCEv2 packet. transport: BTH to ICRC, as far as captured. program: (comm, pid) of the process that recorded it, or
    None; qpn: its queue pair, or None."""

    __slots__ = ("time_ns", "sent", "src", "dst", "src_port", "transport", "wire_bytes", "program", "qpn", "qp_type", "request",
                 "note", "lost", "missing", "ip")

    def __init__(self, time_ns, sent, frame, length):
        self.time_ns, self.sent = time_ns, sent
        self.program = self.qpn = None
        self.qp_type = self.request = self.note = ""
        self.lost, self.missing = False, 0
        self.take_frame(frame, length)

    def take_frame(self, frame, length):
        """Raises ValueError where the frame is not RoCEv2."""
        kind = struct.unpack_from("!H", frame, 12)[0]
        ip = frame[ETH_LEN:]
        if kind == 0x0800 and len(ip) >= 28 and ip[9] == UDP:
            ip_len, at, size = (ip[0] & 15) * 4, 12, 4
            self.ip = {"dscp": ip[1] >> 2, "ecn": ip[1] & 3, "ttl": ip[8], "id": struct.unpack_from("!H", ip, 4)[0]}
        elif kind == 0x86dd and len(ip) >= 48 and ip[6] == UDP:
            ip_len, at, size = 40, 8, 16
            first = struct.unpack_from("!I", ip)[0]
            self.ip = {"dscp": first >> 22 & 63, "ecn": first >> 20 & 3, "hop limit": ip[7], "flow label": first & 0xfffff}
        else:
            raise ValueError("not UDP")
        self.src, self.dst = ip[at:at + size], ip[at + size:at + 2 * size]
        self.src_port, port = struct.unpack_from("!HH", ip, ip_len)
        self.transport = ip[ip_len + UDP_LEN:]
        self.wire_bytes = length - ETH_LEN - ip_len - UDP_LEN
        if port != ROCE_PORT or len(self.transport) < BTH_LEN:
            raise ValueError("not RoCEv2")

    def take_comment(self, comment):
        found = COMMENT_FORM.fullmatch(comment)
        if not found:
            return
        self.program = (found["comm"], int(found["pid"]))
        if found["qpn"]:
            self.qpn, self.qp_type = int(found["qpn"], 16), found["type"]
        self.request = found["request"] or ""
        notes = [note for note in (found["note"] or "").split("; ") if not note.endswith(" are missing before it")]
        self.lost = "LOST" in notes
        self.request = self.request or "; ".join(note for note in notes if note in OF_SERVER)
        self.note = "; ".join(note for note in notes if note not in ("LOST", *OF_SERVER))


@functools.cache
def address_text(raw):
    return str(ipaddress.ip_address(bytes(raw)))


def options(body, order):
    while len(body) >= 4:
        code, size = struct.unpack_from(order + "HH", body)
        if code == 0:
            return
        yield code, body[4:4 + size]
        body = body[4 + (size + 3 & ~3):]


def blocks(file):
    """Byte order, type and body of each whole block."""
    order = "<"
    while len(head := file.read(8)) == 8:
        if struct.unpack("<I", head[:4])[0] == SECTION:
            magic = file.read(4)
            order = "<" if magic == b"\x4d\x3c\x2b\x1a" else ">"
            head += magic
        kind, size = struct.unpack_from(order + "II", head)
        if size < 12 or size % 4:
            raise NotACapture(f"a block of {size} bytes")
        body = head[8:] + file.read(size - len(head) - 4)
        if len(file.read(4)) < 4:
            return
        yield order, kind, body


def ticks_of(body, order):
    """Nanoseconds of a unit of time of an interface block, as a pair: multiply by the first, divide by the second."""
    for code, value in options(body[8:], order):
        if code == RESOLUTION and len(value) == 1:
            return (10 ** 9, 2 ** (value[0] & 127)) if value[0] & 128 else (10 ** 9, 10 ** value[0])
    return 1000, 1


def packet_of(order, body, ticks):
    """The packet of an enhanced packet block; None: another protocol."""
    interface, high, low, captured, length = struct.unpack_from(order + "IIIII", body)
    comment, flags, missing = "", 0, 0
    for code, value in options(body[20 + (captured + 3 & ~3):], order):
        if code == COMMENT:
            comment = value.decode("utf-8", "replace")
        elif code == FLAGS:
            flags = struct.unpack(order + "I", value)[0]
        elif code == DROPPED:
            missing = struct.unpack(order + "Q", value)[0]
    multiply, divide = ticks[interface] if interface < len(ticks) else (1000, 1)
    try:
        packet = Packet((high << 32 | low) * multiply // divide, flags & 3 == 2, body[20:20 + captured], length)
    except (ValueError, struct.error):
        return None
    packet.missing = missing
    packet.take_comment(comment)
    return packet


def read(path):
    """The packets of a file by time, and the number of those that the file says are missing."""
    packets, ticks, missing = [], [], 0
    with open(path, "rb") as file:
        if file.read(4) != b"\x0a\x0d\x0d\x0a":
            raise NotACapture(f"{path} is not a pcapng file: 'rxe_dm capture' writes one, Wireshark's editcap converts others")
        file.seek(0)
        for order, kind, body in blocks(file):
            if kind == SECTION:
                ticks = []
            elif kind == INTERFACE:
                ticks.append(ticks_of(body, order))
            elif kind == STATISTICS:
                missing += sum(struct.unpack(order + "Q", value)[0] for code, value in options(body[12:], order)
                               if code == DROPPED_TOTAL)
            elif kind == PACKET and (packet := packet_of(order, body, ticks)):
                packets.append(packet)
    return packets, max(missing, sum(packet.missing for packet in packets))
