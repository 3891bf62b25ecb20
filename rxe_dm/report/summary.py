# SPDX-License-Identifier: MIT
"""The top of a report: what failed, in sentences that link to their place in the ladder, then the figures of each queue pair."""

import flow
import pcapng
import steps
import wire
from markup import element, size_text, table, text

MOST_SENTENCES = 40


def link(sentence, packet=None, time_ns=None):
    """A sentence that opens its place in the ladder."""
    if packet is not None:
        return element("a", text(sentence), href=f"#p={packet}")
    if time_ns is not None:
        return element("a", text(sentence), href=f"#t={time_ns}")
    return text(sentence)


def sentences(record, drawn):
    """HTML of each thing that went wrong, worst first."""
    return (of_run(record) + of_findings(record, drawn) + of_failures(record, drawn) + of_connections(record, drawn) + of_rules(drawn) +
            of_answers(drawn) + of_unseen(drawn) + of_missing(record))


def of_run(record):
    run, command = record.run, " ".join(record.run.get("command", []))
    if run.get("signal"):
        return [text(f"{command} was ended by signal {run['signal']}")]
    if run.get("status"):
        return [text(f"{command} ended with status {run['status']}")]
    if run and "status" not in run:
        return [text(f"{command} had not ended when the record ends")]
    return []


def of_findings(record, drawn):
    """What --check found; their time is known to the millisecond."""
    first = drawn.arrows[0].time_ns if drawn.arrows else 0
    found = []
    for one in record.findings:
        times = f", {one['times']} times" if one["times"] > 1 else ""
        sentence = f"{one['comm']}[{one['pid']}] {one['id']} {one['name']}{times}: {one['text']}"
        found.append(link(sentence, time_ns=max(0, round(one["time"] * 1e9) - first) if drawn.arrows else None))
    return found


def of_failures(record, drawn):
    first = drawn.arrows[0].time_ns if drawn.arrows else 0
    found = []
    for one in record.failures():
        work = f", wr_id 0x{one['wr_id']:x}" if "wr_id" in one else ""
        sentence = f"{one['comm']}[{one['pid']}] QP 0x{one['qpn']:06x} {one['type']}, {one['status']}{work}: {one['cause']}"
        found.append(link(sentence, time_ns=one["time_ns"] - first if drawn.arrows else None))
    return found


def of_connections(record, drawn):
    found = []
    for one in record.shown.get("rdma_failures", []):
        sentence = f"process {one['pid']}, {one['port_space']} {one['local']} -> {one['remote']}: {one['cause']}"
        found.append(link(sentence, time_ns=time_of_event(record, drawn, one)))
    return found


def time_of_event(record, drawn, failure):
    """When the program got the event, in the ladder; None: the record does not have that."""
    times = [call.time_ns + call.took_ns for process in record.processes if process.pid == failure["pid"] for call in process.calls
             if call.verb == "rdma_get_cm_event" and not call.error and steps.name_of(steps.CM_EVENTS, call.given["event"]) == failure["event"]]
    return max(0, max(times) - drawn.arrows[0].time_ns) if times and drawn.arrows else None


def of_rules(drawn):
    """One sentence for each rule: how often it fired, and where first."""
    fired = {}
    for index, arrow in enumerate(drawn.arrows):
        if arrow.note:
            fired.setdefault(arrow.note, []).append(index)
    return [link(f"{note}: {len(at)} packet{'s' * (len(at) != 1)}", packet=at[0]) for note, at in sorted(fired.items())]


def of_answers(drawn):
    """RNR NAKs and NAKs of each queue pair."""
    found = {}
    for index, arrow in enumerate(drawn.arrows):
        if arrow.flags & (flow.RNR | flow.NAK):
            code = wire.syndrome(arrow.packet.transport)
            kind = ("RNR NAK", "") if arrow.flags & flow.RNR else ("NAK", " " + nak_text(code & 31))
            found.setdefault((arrow.sender, arrow.receiver, kind), []).append(index)
    return [link(f"{drawn.columns[sender]} sent {len(at)} {kind[0]}{'s' * (len(at) != 1)}{kind[1]} to {drawn.columns[receiver]}", packet=at[0])
            for (sender, receiver, kind), at in found.items()]


def nak_text(code):
    return f"({flow.NAKS[code] if code < len(flow.NAKS) else f'code {code}'})"


def of_unseen(drawn):
    at = [index for index, arrow in enumerate(drawn.arrows) if arrow.flags & flow.UNSEEN and not arrow.flags & flow.LOST]
    if not at:
        return []
    return [link(f"no program received {len(at)} of the packets, for example because the receiver had exited", packet=at[0])]


def of_missing(record):
    found, calls = [], sum(process.missing for process in record.processes)
    if record.missing:
        found.append(text(f"the capture lacks {record.missing} packets: they came faster than they could be written"))
    if calls:
        found.append(text(f"the record lacks the first {calls} calls: it keeps the last of each process"))
    return found


def failures_html(record, drawn):
    found = sentences(record, drawn)
    if not found:
        return element("p", "Nothing failed: no queue pair entered error, no packet was lost by a rule, no NAK was sent.", id="fine")
    more = len(found) - MOST_SENTENCES
    items = "".join(element("li", one) for one in found[:MOST_SENTENCES])
    return element("ul", items, id="failed") + (element("p", text(f"and {more} more")) if more > 0 else "")


def figures_html(drawn):
    heads = ["queue pair", "type", "program", "peer", "packets sent", "bytes", "payload", "resent", "lost", "RNR NAKs got", "NAKs got",
             "most outstanding"]
    rows = []
    for qp in drawn.qps:
        peer = drawn.qps[qp.peer] if qp.peer >= 0 else None
        rows.append([f"0x{qp.qpn:06x}", qp.type, drawn.columns[qp.column], f"0x{peer.qpn:06x}" if peer else "", qp.packets, qp.bytes,
                     qp.payload, qp.resent, qp.lost, qp.rnr, qp.nak, qp.most_outstanding])
    return table(heads, rows, id="figures")


def facts(record, drawn):
    """One line: where from, how long, how much."""
    arrows = drawn.arrows
    if not arrows:
        return f"{record.title}: no packets"
    seconds = (max(max(arrow.time_ns, arrow.arrived_ns) for arrow in arrows) - arrows[0].time_ns) / 1e9
    total = sum(arrow.packet.wire_bytes for arrow in arrows)
    addresses = sorted({pcapng.address_text(arrow.packet.src) for arrow in arrows})
    return f"{record.title}: {len(arrows)} packets, {size_text(total)}, {seconds:.6f} s, from {', '.join(addresses[:8])}"
