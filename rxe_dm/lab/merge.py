# SPDX-License-Identifier: MIT
"""Joins captures of the hosts of a lab into one pcapng file, with an interface for each device, named NODE:DEVICE."""

import struct

from topology import Mistake

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
IF_NAME = 2
BYTE_ORDER = 0x1A2B3C4D


def blocks(data, name):
    """(type, body) of each block of a capture in this machine's byte order. A block that is cut off ends the capture."""
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("=II", data, at)
        if length < 12 or length % 4:
            raise Mistake(f"the capture of {name} has a block of {length} bytes")
        if at + length > len(data):
            return
        yield kind, data[at + 8:at + length - 4]
        at += length


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("=II", kind, len(body) + 12) + body + struct.pack("=I", len(body) + 12)


def options(data):
    """(code, value) of each option."""
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("=HH", data, at)
        if code == 0:
            return
        yield code, data[at + 4:at + 4 + length]
        at += 4 + length + -length % 4


def named(body, name):
    """An interface description with another name, all other options kept."""
    kept = [(code, value) for code, value in options(body[8:]) if code != IF_NAME] + [(IF_NAME, name.encode())]
    out = body[:8]
    for code, value in kept:
        out += struct.pack("=HH", code, len(value)) + value + bytes(-len(value) % 4)
    return out + struct.pack("=HH", 0, 0)


def merge(captures):
    """captures: (name of the interface, bytes of a pcapng file). Packets come out in the order of time, whose unit is the
    same in all."""
    head, interfaces, packets = None, b"", []
    count = 0
    for name, data in captures:
        first = count
        for kind, body in blocks(data, name):
            if kind == SECTION:
                if struct.unpack_from("=I", body)[0] != BYTE_ORDER:
                    raise Mistake(f"the capture of {name} has another byte order")
                head = head or block(kind, body)
            elif kind == INTERFACE:
                interfaces += block(kind, named(body, name))
                count += 1
            elif kind == PACKET:
                number, high, low = struct.unpack_from("=III", body)
                packets.append((high << 32 | low, block(kind, struct.pack("=I", first + number) + body[4:])))
    packets.sort(key=lambda packet: packet[0])
    return (head or b"") + interfaces + b"".join(packet for _, packet in packets)
