# SPDX-License-Identifier: MIT
"""The transport headers of RoCEv2 packets (IBTA clause 9.2): names of opcodes, the headers that follow the BTH, and lengths."""

import functools

SERVICES = {0: "RC", 1: "UC", 3: "UD", 4: "CNP", 5: "XRC"}
OPERATIONS = {
    0x00: "SEND_FIRST", 0x01: "SEND_MIDDLE", 0x02: "SEND_LAST", 0x03: "SEND_LAST_IMM", 0x04: "SEND_ONLY", 0x05: "SEND_ONLY_IMM",
    0x06: "WRITE_FIRST", 0x07: "WRITE_MIDDLE", 0x08: "WRITE_LAST", 0x09: "WRITE_LAST_IMM", 0x0a: "WRITE_ONLY",
    0x0b: "WRITE_ONLY_IMM", 0x0c: "READ_REQUEST", 0x0d: "READ_RESP_FIRST", 0x0e: "READ_RESP_MIDDLE",
    0x0f: "READ_RESP_LAST", 0x10: "READ_RESP_ONLY", 0x11: "ACKNOWLEDGE", 0x12: "ATOMIC_ACK",
    0x13: "CMP_SWAP", 0x14: "FETCH_ADD", 0x15: "RESYNC", 0x16: "SEND_LAST_INV", 0x17: "SEND_ONLY_INV", 0x1c: "FLUSH",
    0x1d: "ATOMIC_WRITE",
}
LENGTHS = {"BTH": 12, "DETH": 8, "XRCETH": 4, "FETH": 4, "RETH": 16, "AtomicETH": 28, "AETH": 4, "AtomicAckETH": 8, "ImmDt": 4,
           "IETH": 4}
RC, UC, UD, CNP, XRC = 0, 1, 3, 4, 5
ICRC_LEN = 4
RESPONSES = range(0x0d, 0x13)
ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE = 0x11, 0x12


def service(opcode):
    return opcode >> 5


def operation(opcode):
    return opcode & 0x1f


@functools.cache
def name(opcode):
    if service(opcode) == CNP:
        return "CNP"
    known = OPERATIONS.get(operation(opcode), f"0x{operation(opcode):02x}")
    return f"{SERVICES.get(service(opcode), '?')}_{known}"


@functools.cache
def is_response(opcode):
    return service(opcode) in (RC, XRC) and operation(opcode) in RESPONSES


def is_reliable(opcode):
    return service(opcode) in (RC, XRC)


@functools.cache
def headers(opcode):
    """Names of the headers of a packet, in their order."""
    op, found = operation(opcode), ["BTH"]
    if service(opcode) == UD:
        found.append("DETH")
    if service(opcode) == XRC and not is_response(opcode):
        found.append("XRCETH")
    if op == 0x1c:
        found.append("FETH")
    if op in (0x06, 0x0a, 0x0b, 0x0c, 0x1c, 0x1d):
        found.append("RETH")
    if op in (0x13, 0x14):
        found.append("AtomicETH")
    if op in (0x0d, 0x0f, 0x10, 0x11, 0x12):
        found.append("AETH")
    if op == 0x12:
        found.append("AtomicAckETH")
    if op in (0x03, 0x05, 0x09, 0x0b):
        found.append("ImmDt")
    if op in (0x16, 0x17):
        found.append("IETH")
    return found if service(opcode) != CNP else ["BTH"]


@functools.cache
def headers_len(opcode):
    return sum(LENGTHS[header] for header in headers(opcode))


def payload_len(transport, wire_bytes):
    """Bytes of payload, without pad and ICRC."""
    pad = transport[1] >> 4 & 3
    return max(0, wire_bytes - headers_len(transport[0]) - pad - ICRC_LEN) if service(transport[0]) != CNP else 0


def syndrome(transport):
    """The AETH's syndrome of an ACKNOWLEDGE or response; None: there is none."""
    opcode = transport[0]
    if not is_response(opcode) or "AETH" not in headers(opcode) or len(transport) < 16:
        return None
    return transport[12]


def dest_qpn(transport):
    return int.from_bytes(transport[5:8], "big")


def psn(transport):
    return int.from_bytes(transport[9:12], "big")
