# SPDX-License-Identifier: MIT
"""Reads captures by the format's own rules, and checks what a RoCEv2 port would check: headers, lengths, ICRC. Shares nothing with the
program that wrote them."""

import os
import struct
import zlib

from program import Failure

SECTION, INTERFACE, STATISTICS, PACKET = 0x0a0d0d0a, 1, 5, 6
COMMENT, FLAGS, DROPPED = 1, 2, 4
INBOUND, OUTBOUND = 1, 2
ETH, IPV4, IPV6, UDP, BTH, ICRC = 14, 20, 40, 8, 12, 4
ROCE_PORT = 4791


class Packet:
    """One packet block. missing: packets that the file says it lacks before this one."""

    def __init__(self, body):
        _, high, low, captured, self.length = struct.unpack_from("<IIIII", body)
        self.time_ns = high << 32 | low
        self.frame = body[20:20 + captured]
        self.comment, self.flags, self.missing = "", 0, 0
        for code, value in options(body[20 + (captured + 3 & ~3):]):
            if code == COMMENT:
                self.comment = value.decode()
            elif code == FLAGS:
                self.flags = struct.unpack("<I", value)[0]
            elif code == DROPPED:
                self.missing = struct.unpack("<Q", value)[0]
        self.check_headers()

    @property
    def sent(self):
        return self.flags & 3 == OUTBOUND

    @property
    def opcode(self):
        return self.transport[0]

    @property
    def dest_qpn(self):
        return int.from_bytes(self.transport[5:8], "big")

    @property
    def psn(self):
        return int.from_bytes(self.transport[9:12], "big")

    def check_headers(self):
        """Ethernet, IP and UDP as they must be, or it is no capture of ours."""
        frame = self.frame
        kind = struct.unpack_from("!H", frame, 12)[0]
        self.is_v4 = kind == 0x0800
        ip_len = IPV4 if self.is_v4 else IPV6
        self.ip = frame[ETH:ETH + ip_len]
        self.udp = frame[ETH + ip_len:ETH + ip_len + UDP]
        self.transport = frame[ETH + ip_len + UDP:]
        whole = self.length - ETH
        if self.is_v4:
            good = self.ip[0] == 0x45 and self.ip[9] == 17 and checksum(self.ip) == 0 and \
                struct.unpack_from("!H", self.ip, 2)[0] == whole
        else:
            good = kind == 0x86dd and self.ip[6] == 17 and struct.unpack_from("!H", self.ip, 4)[0] == whole - IPV6
        _, port, udp_len, _ = struct.unpack("!HHHH", self.udp)
        if not good or port != ROCE_PORT or udp_len != whole - ip_len:
            raise Failure(f"the headers around a packet are wrong: {frame[:60].hex()}")

    def icrc_is_good(self):
        """IBTA annex A17: what changes on the way counts as ones."""
        if len(self.transport) < BTH + ICRC or len(self.frame) != self.length:
            return False
        ip, udp, transport = bytearray(self.ip), bytearray(self.udp), bytearray(self.transport[:-ICRC])
        if self.is_v4:
            ip[1] = ip[8] = ip[10] = ip[11] = 0xff
        else:
            ip[0] |= 0x0f
            ip[1] = ip[2] = ip[3] = ip[7] = 0xff
        udp[6] = udp[7] = transport[4] = 0xff
        crc = zlib.crc32(b"\xff" * 8 + bytes(ip) + bytes(udp) + bytes(transport))
        return crc == int.from_bytes(self.transport[-ICRC:], "little")


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def options(rest):
    while len(rest) >= 4:
        code, size = struct.unpack_from("<HH", rest)
        if code == 0:
            return
        yield code, rest[4:4 + size]
        rest = rest[4 + (size + 3 & ~3):]


def blocks(path):
    with open(path, "rb") as f:
        while head := f.read(8):
            kind, size = struct.unpack("<II", head)
            body = f.read(size - 12)
            if size % 4 or f.read(4) != head[4:]:
                raise Failure(f"a block of {size} bytes does not end as it began")
            yield kind, body


def cut(path):
    """Takes away a last block that is not whole, as Wireshark does. Returns its bytes."""
    whole, size = 0, os.path.getsize(path)
    with open(path, "rb") as f:
        while head := f.read(8):
            block = struct.unpack("<II", head.ljust(8, b"\0"))[1] or 8
            if whole + block > size:
                break
            whole += block
            f.seek(whole)
    os.truncate(path, whole)
    return size - whole


def read(path):
    """All packets, in the order of the file; how many there were, and how many of them are missing, as its end says."""
    kinds, packets, totals = [], [], {}
    for kind, body in blocks(path):
        kinds.append(kind)
        if kind == PACKET:
            packets.append(Packet(body))
        elif kind == STATISTICS:
            totals = {code: struct.unpack("<Q", value)[0] for code, value in options(body[12:])}
    if kinds[:2] != [SECTION, INTERFACE] or kinds[-1] != STATISTICS or \
            kinds[2:-1] != [PACKET] * len(packets):
        raise Failure("not a section, an interface, packets, and statistics at the end")
    return packets, totals[4], totals[5]
