# SPDX-License-Identifier: MIT
"""The calls of a record as steps beside the columns of the ladder: posts, completions, events, states of queue pairs and connections, other
calls. Two figures follow each step: the receives that are posted to its queue, and the completions in its CQ."""

import errno
import ipaddress

SEND, RECV, COMPLETION, EVENT, STATE, OTHER = range(6)
KINDS = {"ibv_post_send": SEND, "ibv_post_recv": RECV, "ibv_post_srq_recv": RECV, "completion": COMPLETION, "ibv_get_cq_event": EVENT,
         "ibv_get_async_event": EVENT, "ibv_modify_qp": STATE, "ibv_destroy_qp": STATE, "rdma_get_cm_event": EVENT, "rdma_listen": STATE,
         "rdma_connect": STATE, "rdma_accept": STATE, "rdma_reject": STATE, "rdma_establish": STATE, "rdma_disconnect": STATE}
STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
SENDS = {0: "RDMA_WRITE", 1: "RDMA_WRITE_WITH_IMM", 2: "SEND", 3: "SEND_WITH_IMM", 4: "RDMA_READ", 5: "ATOMIC_CMP_AND_SWP",
         6: "ATOMIC_FETCH_AND_ADD", 7: "LOCAL_INV", 8: "BIND_MW", 9: "SEND_WITH_INV", 14: "FLUSH", 15: "ATOMIC_WRITE"}
COMPLETIONS = {0: "SEND", 1: "RDMA_WRITE", 2: "RDMA_READ", 3: "COMP_SWAP", 4: "FETCH_ADD", 5: "BIND_MW", 6: "LOCAL_INV", 8: "FLUSH",
               9: "ATOMIC_WRITE", 128: "RECV", 129: "RECV_RDMA_WITH_IMM"}
STATUSES = ("SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR", "MW_BIND_ERR", "BAD_RESP_ERR",
            "LOC_ACCESS_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR", "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR",
            "REM_INV_RD_REQ_ERR", "REM_ABORT_ERR", "INV_EECN_ERR", "INV_EEC_STATE_ERR", "FATAL_ERR", "RESP_TIMEOUT_ERR", "GENERAL_ERR")
EVENTS = ("CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "COMM_EST", "SQ_DRAINED", "PATH_MIG", "PATH_MIG_ERR", "DEVICE_FATAL",
          "PORT_ACTIVE", "PORT_ERR", "LID_CHANGE", "PKEY_CHANGE", "SM_CHANGE", "SRQ_ERR", "SRQ_LIMIT_REACHED", "QP_LAST_WQE_REACHED",
          "CLIENT_REREGISTER", "GID_CHANGE", "WQ_FATAL")
CM_EVENTS = ("ADDR_RESOLVED", "ADDR_ERROR", "ROUTE_RESOLVED", "ROUTE_ERROR", "CONNECT_REQUEST", "CONNECT_RESPONSE", "CONNECT_ERROR",
             "UNREACHABLE", "REJECTED", "ESTABLISHED", "DISCONNECTED", "DEVICE_REMOVAL", "MULTICAST_JOIN", "MULTICAST_ERROR", "ADDR_CHANGE",
             "TIMEWAIT_EXIT", "ADDRINFO_RESOLVED", "ADDRINFO_ERROR")
CM_FAILED = ("ADDR_ERROR", "ROUTE_ERROR", "CONNECT_ERROR", "UNREACHABLE", "REJECTED", "DEVICE_REMOVAL", "MULTICAST_ERROR", "ADDRINFO_ERROR")
HEX = ("wr_id", "addr", "remote_addr", "rkey", "lkey", "iova", "qp", "dest_qp", "access", "mask", "flags", "id", "listener")
# Posts and completions are too many for a text each: the page makes it of these names.
NAMES = {"sends": SENDS, "completions": COMPLETIONS, "statuses": dict(enumerate(STATUSES))}


def name_of(names, number):
    return names[number] if number < len(names) else str(number)


def address_of(given):
    """The address of a call of librdmacm: IPv4 is IPv4-mapped."""
    found = ipaddress.IPv6Address(given["address_high"] << 64 | given["address_low"])
    return str(found.ipv4_mapped or found)


def given_text(call):
    given = {}
    for key, value in call.given.items():
        if key == "event":
            value = name_of(CM_EVENTS, value)
        if key == "address_low":
            key, value = "address", address_of(call.given)
        if key != "address_high":
            given[key] = value
    return ", ".join(f"{key} 0x{value:x}" if key in HEX else f"{key} {value}" for key, value in given.items() if value)


def has_failed(call):
    if call.verb == "rdma_get_cm_event" and not call.error:
        return name_of(CM_EVENTS, call.given["event"]) in CM_FAILED
    return bool(call.error or call.verb == "completion" and call.given["status"])


class Step:
    """queue, cq: indexes of Steps.queues or -1; level: receives in the queue after it; fill: completions in the CQ before the poll."""

    __slots__ = ("time_ns", "call", "kind", "column", "qp", "queue", "level", "cq", "fill", "failed", "text")

    def __init__(self, call, column):
        # A completion is there when the poll returns, an event when the wait does.
        self.kind = KINDS.get(call.verb, OTHER)
        self.time_ns = call.time_ns + (call.took_ns if self.kind in (COMPLETION, EVENT) else 0)
        self.call, self.column, self.qp = call, column, -1
        self.queue = self.cq = -1
        self.level = self.fill = 0
        self.failed = has_failed(call)
        self.text = "" if self.kind in (SEND, RECV, COMPLETION) else text_of(call)
        if call.error:
            self.text = (self.text or f"{call.verb} {given_text(call)}") + f": {errno.errorcode.get(call.error, call.error)}"


def text_of(call):
    if call.verb == "ibv_modify_qp" and call.given["mask"] & 1:
        rest = {key: value for key, value in call.given.items() if value and key not in ("qp", "mask", "state")}
        words = ", ".join(f"{key} {value}" for key, value in rest.items())
        return f"QP 0x{call.given['qp']:06x} to {name_of(STATES, call.given['state'])}" + (f": {words}" if words else "")
    if call.verb == "ibv_get_async_event" and not call.error:
        return f"event {name_of(EVENTS, call.given['type'])} of {call.given['element']}"
    if call.verb == "ibv_get_cq_event" and not call.error:
        return f"event of CQ {call.given['cq']}"
    if call.verb == "rdma_get_cm_event" and not call.error:
        return f"event {name_of(CM_EVENTS, call.given['event'])} of id 0x{call.given['id']:x}" + cm_status_text(call.given)
    return f"{call.verb} {given_text(call)}".strip()


def cm_status_text(given):
    """A status is the reason of a reject, or a negative errno."""
    status = given["status"] - (1 << 64) * (given["status"] >> 63)
    words = [f"QP 0x{given['qp']:06x}"] * bool(given["qp"])
    words += [errno.errorcode.get(-status, f"status {status}")] * bool(status)
    return "".join(f", {word}" for word in words)


class Queue:
    """A receive queue or a CQ. levels: steps that changed it; qps: indexes of the queue pairs that use it."""

    def __init__(self, name, first):
        self.name, self.qps, self.level, self.first = name, set(), 0, first
        self.steps = []

    def change(self, step, by):
        self.level += by
        step.level, step.queue = self.level, self.first
        self.steps.append(step)

    def settle(self):
        """Posts before the oldest call in the record: as many as make no level negative."""
        least = min((step.level for step in self.steps), default=0)
        for step in self.steps:
            step.level -= min(0, least)


class Steps:
    """all: by time; queues: receive queues and CQs. Adds columns to the ladder for programs without packets."""

    def __init__(self, processes, drawn):
        self.drawn, self.all, self.queues = drawn, [], []
        self.missing = sum(process.missing for process in processes)
        for process in processes:
            self.add(process)
        self.all.sort(key=lambda step: step.time_ns)
        for queue in self.queues:
            queue.settle()

    def queue(self, named, key, name):
        if key not in named:
            named[key] = Queue(name, len(self.queues))
            self.queues.append(named[key])
        return named[key]

    def column_of(self, process, qps):
        for title, index in ((title, index) for index, title in enumerate(self.drawn.columns)):
            if title == process.title():
                return index
        for index in qps.values():
            return self.drawn.qps[index].column
        return self.drawn.column(("process", process.pid, process.comm), process.title())

    def add(self, process):
        numbers = {call.given["qp"] for call in process.calls if "qp" in call.given}
        qps = {qp.qpn: index for index, qp in enumerate(self.drawn.qps) if qp.qpn in numbers}
        named, attached = {}, {}
        column = self.column_of(process, qps)
        for call in process.calls:
            step = Step(call, column)
            step.qp = qps.get(call.given.get("qp"), -1)
            self.count(step, call, named, attached)
            self.all.append(step)

    def count(self, step, call, named, attached):
        """Follows receives and completions. attached: the receive queue of each queue pair."""
        given, good = call.given, not call.error
        if call.verb == "ibv_create_qp" and good:
            key = ("srq", given["srq"]) if given["srq"] else ("qp", given["qp"])
            attached[given["qp"]] = key
        elif call.verb in ("ibv_post_recv", "ibv_post_srq_recv") and good:
            key = ("srq", given["srq"]) if "srq" in given else attached.get(given["qp"], ("qp", given["qp"]))
            self.receives(named, key, step).change(step, 1)
        elif call.verb == "completion":
            cq = self.queue(named, ("cq", given["cq"]), f"CQ {given['cq']}")
            cq.qps.add(step.qp)
            step.cq, step.fill = cq.first, given["left"] + 1
            if given["opcode"] & 128:
                self.receives(named, attached.get(given["qp"], ("qp", given["qp"])), step).change(step, -1)
        elif good and (call.verb == "ibv_destroy_qp" or call.verb == "ibv_modify_qp" and given["mask"] & 1 and given["state"] == 0):
            key = attached.get(given["qp"], ("qp", given["qp"]))
            if key in named and key[0] == "qp":
                named[key].change(step, -named[key].level)

    def receives(self, named, key, step):
        name = f"SRQ {key[1]}" if key[0] == "srq" else f"QP 0x{key[1]:06x}"
        found = self.queue(named, key, name)
        found.qps.add(step.qp)
        return found
