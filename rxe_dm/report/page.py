# SPDX-License-Identifier: MIT
"""Assembles the report: one HTML file with style, script and data inside, which fetches nothing."""

import array
import base64
import json
import os
import sys

import flow
import objects
import steps
import summary
import wire
from markup import element, table, text

FOLDER = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = ("data.js", "rows.js", "ladder.js", "steps.js", "timeline.js", "page.js")
NONE16, NONE32 = 0xffff, 0xffffffff
HEAD_MAX = 48


class Strings:
    """Texts by number, each once; 0 is the empty text."""

    def __init__(self):
        self.all, self.at = [""], {"": 0}

    def number(self, string):
        if string not in self.at:
            self.at[string] = len(self.all)
            self.all.append(string)
        return self.at[string]


def packed(kind, values):
    """Base64 of a little-endian array."""
    found = array.array(kind, values)
    if sys.byteorder == "big":
        found.byteswap()
    return base64.b64encode(found.tobytes()).decode("ascii")


def columns_of(drawn, strings):
    """The arrows as one array for each field. Times are nanoseconds after the first packet."""
    arrows = drawn.arrows
    first = arrows[0].time_ns if arrows else 0
    heads, offsets = bytearray(), []
    for arrow in arrows:
        offsets.append(len(heads))
        heads += arrow.packet.transport[:min(HEAD_MAX, wire.headers_len(arrow.opcode))]
    return {
        "time": packed("d", [arrow.time_ns - first for arrow in arrows]),
        "arrived": packed("d", [arrow.arrived_ns - first if arrow.arrived_ns >= 0 else -1 for arrow in arrows]),
        "opcode": packed("B", [arrow.opcode for arrow in arrows]),
        "flags": packed("H", [arrow.flags for arrow in arrows]),
        "sender": packed("H", [arrow.sender for arrow in arrows]),
        "receiver": packed("H", [arrow.receiver for arrow in arrows]),
        "source": packed("H", [arrow.source if arrow.source >= 0 else NONE16 for arrow in arrows]),
        "target": packed("H", [arrow.target if arrow.target >= 0 else NONE16 for arrow in arrows]),
        "psn": packed("I", [arrow.psn for arrow in arrows]),
        "bytes": packed("I", [arrow.packet.wire_bytes for arrow in arrows]),
        "payload": packed("I", [arrow.payload for arrow in arrows]),
        "outstanding": packed("I", [min(arrow.outstanding, NONE32) for arrow in arrows]),
        "request": packed("I", [strings.number(arrow.packet.request) for arrow in arrows]),
        "note": packed("I", [strings.number(arrow.note) for arrow in arrows]),
        "around": packed("I", [strings.number(around(arrow.packet)) for arrow in arrows]),
        "offset": packed("I", offsets + [len(heads)]),
        "heads": base64.b64encode(bytes(heads)).decode("ascii"),
    }


def columns_of_steps(found, first, strings):
    """The steps, likewise. Times of steps before the first packet are negative."""
    every = found.all
    given = [step.call.given for step in every]
    return {
        "step_time": packed("d", [step.time_ns - first for step in every]),
        "step_took": packed("I", [step.call.took_ns for step in every]),
        "step_column": packed("H", [step.column for step in every]),
        "step_qp": packed("H", [step.qp if step.qp >= 0 else NONE16 for step in every]),
        "step_kind": packed("B", [step.kind for step in every]),
        "step_failed": packed("B", [step.failed for step in every]),
        "step_wr_id": packed("Q", [one.get("wr_id", 0) for one in given]),
        "step_op": packed("H", [one.get("opcode", 0) & NONE16 for one in given]),
        "step_bytes": packed("I", [min(one.get("bytes", 0), NONE32) for one in given]),
        "step_status": packed("H", [one.get("status", 0) & NONE16 for one in given]),
        "step_text": packed("I", [strings.number(step.text) for step in every]),
        "step_queue": packed("H", [step.queue if step.queue >= 0 else NONE16 for step in every]),
        "step_level": packed("I", [step.level for step in every]),
        "step_cq": packed("H", [step.cq if step.cq >= 0 else NONE16 for step in every]),
        "step_fill": packed("I", [step.fill for step in every]),
    }


def around(packet):
    """The fields outside the transport headers."""
    return ", ".join([f"source port {packet.src_port}"] + [f"{key} {value}" for key, value in packet.ip.items() if key != "id"])


def data_of(record, drawn, found):
    strings = Strings()
    opcodes = sorted({arrow.opcode for arrow in drawn.arrows})
    arrays = columns_of(drawn, strings)
    first = drawn.arrows[0].time_ns if drawn.arrows else found.all[0].time_ns if found.all else 0
    arrays.update(columns_of_steps(found, first, strings))
    return {
        "count": len(drawn.arrows), "first_ns": str(first), "columns": drawn.columns, "names": steps.NAMES,
        "queues": [{"name": queue.name, "qps": sorted(queue.qps)} for queue in found.queues],
        "qps": [{"qpn": qp.qpn, "type": qp.type, "column": qp.column, "peer": qp.peer} for qp in drawn.qps],
        "opcodes": {opcode: {"name": wire.name(opcode), "headers": wire.headers(opcode)} for opcode in opcodes},
        "flags": {name: getattr(flow, name) for name in ("LOST", "RESENT", "RNR", "NAK", "RULE", "RESPONSE", "UNSEEN", "AGAIN",
                                                          "GOOD")},
        "naks": flow.NAKS, "strings": strings.all, "arrays": arrays, "samples": samples_of(record, drawn),
    }


def samples_of(record, drawn):
    """Counters over time, as differences between samples: what the packets do not show."""
    if not drawn.arrows:
        return []
    first, found = drawn.arrows[0].time_ns, []
    for sample in record.samples:
        for device in sample.get("devices", []):
            found.append({"ns": sample["time_ns"] - first, "device": device["name"], "counters": device["counters"]})
    return found


def counters_html(record):
    """The counters of `show --json` that are not zero."""
    rows = [[device["name"], name, value] for device in record.devices() for name, value in device["counters"].items() if value]
    return table(["device", "counter", "value"], rows, id="counters") if rows else element("p", "The record has no counters.")


def log_html(record):
    if not record.log:
        return element("p", "The record has no log.")
    return element("pre", text("\n".join(record.log)), id="log")


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def script_data(data):
    """JSON that cannot end the script element it stands in."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def html_of(record):
    drawn = flow.Flow(record.packets)
    found = steps.Steps(record.processes, drawn)
    parts = {
        "TITLE": text(record.title), "FACTS": text(summary.facts(record, drawn)), "FAILED": summary.failures_html(record, drawn),
        "FIGURES": summary.figures_html(drawn), "OBJECTS": objects.objects_html(record, drawn), "COUNTERS": counters_html(record),
        "LOG": log_html(record), "STYLE": read("page.css"), "SCRIPT": "\n".join(read(name) for name in SCRIPTS),
        "DATA": script_data(data_of(record, drawn, found)),
    }
    pieces = read("page.html").split("@")
    return "".join(parts[piece] if index % 2 else piece for index, piece in enumerate(pieces))
