# SPDX-License-Identifier: MIT
"""The device in gdb: `rxe qp|cq|mr|wr|last [NUMBER]` in a stopped program or its core file.

Reads the structures of libibverbs.so.1 by their debug information, and changes nothing. It calls no function of the program, so
it works in a core file, and while a thread holds the device's lock. gdb loads it with the library (docs/rxe_dm.1, "In a
debugger"), and Python's standard library is all that it needs."""

import contextlib
import struct

import gdb

PACKETS = 16  # of `rxe last`
NO_TYPES = ("libibverbs.so.1 of rxe_dm is not loaded, or has no debug information: install its package of debug symbols "
            "(rxe-dm-dbgsym), or build with -g")
OPCODES = {
    0x00: "SEND_FIRST", 0x01: "SEND_MIDDLE", 0x02: "SEND_LAST", 0x03: "SEND_LAST_IMM", 0x04: "SEND_ONLY", 0x05: "SEND_ONLY_IMM",
    0x06: "WRITE_FIRST", 0x07: "WRITE_MIDDLE", 0x08: "WRITE_LAST", 0x09: "WRITE_LAST_IMM", 0x0a: "WRITE_ONLY",
    0x0b: "WRITE_ONLY_IMM", 0x0c: "READ_REQUEST", 0x0d: "READ_RESP_FIRST", 0x0e: "READ_RESP_MIDDLE", 0x0f: "READ_RESP_LAST",
    0x10: "READ_RESP_ONLY", 0x11: "ACKNOWLEDGE", 0x12: "ATOMIC_ACK", 0x13: "CMP_SWAP", 0x14: "FETCH_ADD", 0x16: "SEND_LAST_INV",
    0x17: "SEND_ONLY_INV", 0x1c: "FLUSH", 0x1d: "ATOMIC_WRITE",
}
SERVICES = {0: "RC", 1: "UC", 3: "UD", 4: "CNP", 5: "XRC"}
RIGHTS = ((1, "local_write"), (2, "remote_write"), (4, "remote_read"), (8, "remote_atomic"), (16, "mw_bind"), (32, "zero_based"),
          (64, "on_demand"), (256, "flush_global"), (512, "flush_persistent"), (1 << 20, "relaxed_ordering"))
MR = struct.Struct("<IIQQQIIIIIIII")  # struct rxe_mr
PLAIN, ARENA = 1, 2
ACKNOWLEDGE = 0x11
NAKS = {0: "PSN sequence error", 1: "invalid request", 2: "remote access error", 3: "remote operational error"}
INLINE, SIGNALED = 8, 2  # enum rxe_send_flag
IN_FLIGHT = 1 << 23


def enum_name(type_name, value):
    """RXE_QPS_RTS becomes RTS."""
    with contextlib.suppress(gdb.error):
        for field in gdb.lookup_type(f"enum {type_name}").fields():
            if field.enumval == int(value):
                return "_".join(field.name.split("_")[2:])
    return str(int(value))


def pointer_to(value, type_name):
    return value.cast(gdb.lookup_type(type_name).pointer())


def address(gid):
    raw = bytes(int(gid["raw"][i]) for i in range(16))
    if raw[:12] == bytes(10) + b"\xff\xff":
        return ".".join(str(byte) for byte in raw[12:])
    return ":".join(raw[i:i + 2].hex() for i in range(0, 16, 2))


def rights(value):
    return " ".join(name for bit, name in RIGHTS if value & bit) or "-"


def is_before(psn, other):
    """PSNs have 24 bits, and wrap."""
    return psn != other and (other - psn) % (2 * IN_FLIGHT) < IN_FLIGHT


class Ring:
    """The entries of a struct rxe_ring that are not retired."""

    def __init__(self, ring):
        self.ring = ring

    def __len__(self):
        return (int(self.ring["tail"]) - int(self.ring["head"])) % (1 << 32)

    def entries(self, type_name):
        for i in range(int(self.ring["head"]), int(self.ring["head"]) + len(self)):
            at = self.ring["mem"] + (i & int(self.ring["mask"])) * int(self.ring["stride"])
            yield pointer_to(at, type_name)


def devices():
    """The devices of the program with an engine, as struct vb_device."""
    # Link-time optimization leaves a second symbol without an address.
    values = [symbol.value() for symbol in gdb.lookup_static_symbols("known") if "vb_device" in str(symbol.type)]
    found = [value for value in values if not value.is_optimized_out]
    if not found:
        raise gdb.GdbError(NO_TYPES)
    known = found[0]
    low, high = known.type.range()
    opened = [known[i].dereference() for i in range(low, high + 1) if int(known[i])]
    opened = [device for device in opened if int(device["progress"]["engine"])]
    if not opened:
        raise gdb.GdbError("the program has no device open")
    return opened


def queue_pairs(number):
    """Those of all devices, or the one with this number: pairs of a device and a struct rxe_qp."""
    found = []
    for device in devices():
        table = device["progress"]["engine"]["qp"]
        low, high = table.type.range()
        for i in range(low, high + 1):
            if int(table[i]) and number in (None, int(table[i]["qpn"])):
                found.append((device, table[i].dereference()))
    if number is not None and not found:
        raise gdb.GdbError(f"no queue pair 0x{number:06x}: `rxe qp` lists all")
    return found


def is_reliable(qp):
    return enum_name("rxe_qp_type", qp["type"]) in ("RC", "XRC_SEND", "XRC_RECV")


def title(qp):
    return f"QP 0x{int(qp['qpn']):06x} {enum_name('rxe_qp_type', qp['type'])} {enum_name('rxe_qp_state', qp['state'])}"


def show_qp(_device, qp, details):
    attr, receives = qp["attr"], Ring(qp["srq"]["rq"] if int(qp["srq"]) else qp["rq"])
    peer = f" to QP 0x{int(attr['dest_qp_num']):06x} at {address(qp['flow']['dst'])}" if int(attr["dest_qp_num"]) else ""
    print(f"{title(qp)}{peer}: {len(Ring(qp['sq']))} sends, {len(receives)} receives{' of its SRQ' if int(qp['srq']) else ''}")
    if not details:
        return
    print(f"  path MTU {int(attr['path_mtu'])}, timeout {int(attr['timeout'])}, PD {int(qp['pd'])}, "
          f"access {rights(int(attr['qp_access_flags']))}")
    if is_reliable(qp):
        req, retry = qp["rc"]["req"], qp["rc"]["retry"]
        print(f"  sends: PSN {int(req['una_psn'])} is the oldest without ACK, {int(req['cur_psn'])} is sent next; "
              f"retries {int(retry['retries'])} of {int(attr['retry_cnt'])}, "
              f"RNR retries {int(retry['rnr_retries'])} of {int(attr['rnr_retry'])}")
        if int(retry["stopped_process"]):
            print("  its peer is stopped: its timer stands still")
        print(f"  receives: PSN {int(attr['rq_psn'])} is expected next")


def state_of(qp, wqe):
    if int(wqe["started"]) == 0:
        return "posted"
    if int(wqe["started"]) == 2:
        return "done"
    if not is_reliable(qp):
        return "sending"
    req = qp["rc"]["req"]
    psns = f"PSN {int(wqe['psn_first'])}..{int(wqe['psn_last'])}"
    if is_before(int(wqe["psn_last"]), int(req["cur_psn"])):
        return f"sent, no ACK yet, {psns}"
    return f"sending, {psns}"


def show_buffers(sges, count):
    for i in range(count):
        print(f"      {int(sges[i]['length'])} bytes at 0x{int(sges[i]['addr']):x}, lkey 0x{int(sges[i]['lkey']):08x}")


def show_send(qp, wqe):
    opcode = enum_name("rxe_wr_opcode", wqe["opcode"])
    flags = int(wqe["flags"])
    has_remote = opcode.startswith(("RDMA", "ATOMIC", "FLUSH"))
    remote = f", at 0x{int(wqe['remote_addr']):x} with rkey 0x{int(wqe['rkey']):08x}" if has_remote else ""
    print(f"  send wr_id 0x{int(wqe['wr_id']):x}: {opcode}, {int(wqe['len'])} bytes{remote}"
          f"{'' if flags & SIGNALED else ', not signaled'}; {state_of(qp, wqe)}")
    if flags & INLINE:
        print(f"      {int(wqe['len'])} bytes inline")
    elif opcode not in ("BIND_MW", "LOCAL_INV"):
        show_buffers(pointer_to(wqe["tail"].address, "struct rxe_sge"), int(wqe["num_sge"]))


def show_receive(wqe):
    print(f"  receive wr_id 0x{int(wqe['wr_id']):x}: {int(wqe['len'])} bytes")
    show_buffers(pointer_to(wqe["sge"].address, "struct rxe_sge"), int(wqe["num_sge"]))


def show_wrs(_device, qp):
    print(title(qp))
    for wqe in Ring(qp["sq"]).entries("struct rxe_send_wqe"):
        show_send(qp, wqe)
    for wqe in Ring(qp["srq"]["rq"] if int(qp["srq"]) else qp["rq"]).entries("struct rxe_recv_wqe"):
        show_receive(wqe)


def completion_queues():
    """Those that queue pairs use, by their handle."""
    found = {}
    for _, qp in queue_pairs(None):
        for name in ("send_cq", "recv_cq"):
            if int(qp[name]):
                owner = pointer_to(qp[name]["owner"], "struct vb_cq")
                found[int(owner["ex"]["handle"])] = (owner, qp[name].dereference())
    return found


def show_cqe(entry, is_visible):
    sides = "receive" if int(entry["opcode"]) & 128 else "send"
    print(f"  {sides} wr_id 0x{int(entry['wr_id']):x}: {enum_name('rxe_wc_status', entry['status'])}, "
          f"{enum_name('rxe_wc_opcode', entry['opcode'])}, {int(entry['byte_len'])} bytes, QP 0x{int(entry['qpn']):06x}"
          f"{'' if is_visible else ', not visible yet'}")


def show_cq(handle, owner, cq):
    head, tail, visible = (int(cq[name]) for name in ("head", "tail", "visible"))
    print(f"CQ {handle} (struct ibv_cq *) 0x{int(owner):x}: {(visible - head) % (1 << 32)} completions not polled, "
          f"of {int(cq['limit'])} at most; notification {enum_name('rxe_cq_arm', cq['armed']).lower()}"
          f"{'; OVERRUN' if int(cq['overrun']) else ''}")
    for i in range(head, head + (tail - head) % (1 << 32)):
        show_cqe(cq["ring"][i & int(cq["mask"])], i - head < (visible - head) % (1 << 32))


def regions(device):
    """The process's keys, from the table in shared memory: tuples of struct rxe_mr's members."""
    attachment = device["attachment"]
    table = attachment["shared"]["mrs"]["entry"]
    _, last = table.type.range()
    try:
        memory = gdb.selected_inferior().read_memory(int(table.address), (last + 1) * MR.size)
    except gdb.MemoryError:
        raise gdb.GdbError("the core file lacks shared memory: set bit 1 of /proc/PID/coredump_filter") from None
    for mr in MR.iter_unpack(bytes(memory)):
        if mr[0] and mr[6] in (PLAIN, ARENA) and (mr[6] == ARENA or mr[7] == int(attachment["slot"])):
            yield mr


def show_mrs(number):
    found = False
    for device in devices():
        for key, pd, iova, length, addr, flags, kind, *_ in regions(device):
            if number not in (None, key):
                continue
            found = True
            where = f"memory at 0x{addr:x}" if kind == PLAIN else f"device memory at offset 0x{addr:x}"
            print(f"MR 0x{key:08x}: {length} bytes of {where}{'' if iova == addr else f', from 0x{iova:x}'}, PD {pd}, {rights(flags)}")
    if number is not None and not found:
        raise gdb.GdbError(f"no region has the key 0x{number:08x}: `rxe mr` lists all")


def packets(device):
    """The last packets that the process sent and received, oldest first."""
    tail = device["progress"]["link"]["tail"]
    if not int(tail):
        raise gdb.GdbError("packets are not noted (RXE_DM_TAIL=0)")
    table, last = tail["at"], int(tail["next"])
    count = table.type.range()[1] + 1
    for i in range(max(0, last - count), last):
        packet = table[i % count]
        head = bytes(int(packet["head"][k]) for k in range(16))
        if int(packet["len"]) >= 12:
            yield i < int(tail["stamped"]), packet, head


def acknowledgement(head):
    """What the syndrome of an ACKNOWLEDGE says (AETH follows BTH)."""
    if head[0] & 31 != ACKNOWLEDGE or not head[12] & 0x60:
        return ""
    if head[12] >> 5 & 3 == 1:
        return ", RNR NAK"
    return f", NAK: {NAKS.get(head[12] & 31, f'code {head[12] & 31}')}"


def show_packet(device, stamped, packet, head):
    age = (int(device["progress"]["engine"]["now_ns"]) - int(packet["time_ns"])) / 1e6
    time = f"{-age:12.3f} ms" if stamped else f"{'now':>15}"
    skipped = int(packet["skipped"])
    print(f"{time} {'>' if int(packet['sent']) else '<'} {SERVICES.get(head[0] >> 5, '?')} {OPCODES.get(head[0] & 31, hex(head[0]))} "
          f"PSN {int.from_bytes(head[9:12], 'big')} to QP 0x{int.from_bytes(head[5:8], 'big'):06x}, {int(packet['len'])} bytes"
          f"{', asks for an ACK' if head[8] & 128 else ''}{acknowledgement(head)}{f'; and {skipped} more of the same call' if skipped else ''}")


def show_last(number):
    for device in devices():
        numbers = {number, *(int(qp["attr"]["dest_qp_num"]) for owner, qp in queue_pairs(number) if number is not None)}
        wanted = [row for row in packets(device)
                  if number is None or int.from_bytes(row[2][5:8], "big") in numbers]
        if not wanted:
            print("no packets")
        for row in wanted[-PACKETS:]:
            show_packet(device, *row)


class Rxe(gdb.Command):
    """The rxe_dm device of the program: rxe qp, cq, mr, wr, last, each with a number or without."""

    def __init__(self):
        super().__init__("rxe", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument, from_tty):
        for device in devices():
            print(f"{device['base']['name'].string()}: {int(device['progress']['engine']['num_qp'])} queue pairs, "
                  f"slot {int(device['attachment']['slot'])}, address {address(device['info']['gids'][0])}")
        print("rxe qp|cq|mr|wr|last [NUMBER]")


class Sub(gdb.Command):
    """One of the commands. show is called with the number, or None."""

    def __init__(self, name, doc, show):
        self.__doc__ = doc
        self.show = show
        super().__init__(f"rxe {name}", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        try:
            self.show(int(gdb.parse_and_eval(argument)) if argument else None)
        except gdb.MemoryError as why:
            raise gdb.GdbError(f"memory that the core file or the process lacks: {why}") from None


def qps(number):
    for device, qp in queue_pairs(number):
        show_qp(device, qp, number is not None)


def wrs(number):
    for device, qp in queue_pairs(number):
        show_wrs(device, qp)


def cqs(number):
    found = completion_queues()
    if number is not None and number not in found:
        raise gdb.GdbError(f"no queue pair uses a completion queue {number}: `rxe cq` lists all")
    for handle, (owner, cq) in sorted(found.items()):
        if number in (None, handle):
            show_cq(handle, owner, cq)


Rxe()
Sub("qp", "Queue pairs: state, peer, requests outstanding. With a number: timers and PSNs of one.", qps)
Sub("wr", "Work requests that are not completed, with wr_id and buffers: of all queue pairs, or of one.", wrs)
Sub("cq", "Completion queues of queue pairs, and completions that are not polled: of all, or of one handle.", cqs)
Sub("mr", "Memory regions of the process: all, or the one with a key.", show_mrs)
Sub("last", f"The last {PACKETS} packets: of the process, or of a queue pair and its peer.", show_last)
