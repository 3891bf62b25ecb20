# SPDX-License-Identifier: MIT
"""Pictures of the objects: programs with their queue pairs, protection domains and regions, who is connected to whom, and the arena
as a map. SVG, drawn from `rxe_dm show --json`; without it from the packets, which name queue pairs only."""

from markup import element, size_text, table, text

BOX_WIDTH, GAP, LINE, TOP = 380, 120, 20, 34
MOST_LINES = 60


class Box:
    """One program: lines of text, and the heights of its queue pairs."""

    def __init__(self, title):
        self.title, self.lines, self.qp_line = title, [], {}

    def add(self, line, indent=0):
        if len(self.lines) < MOST_LINES:
            self.lines.append((indent, line))
        elif len(self.lines) == MOST_LINES:
            self.lines.append((0, "and more"))

    def add_qp(self, key, line, indent):
        self.qp_line[key] = len(self.lines)
        self.add(line, indent)


def boxes_of_packets(drawn):
    boxes = [Box(title) for title in drawn.columns]
    edges = set()
    for index, qp in enumerate(drawn.qps):
        boxes[qp.column].add_qp(index, f"QP 0x{qp.qpn:06x} {qp.type}", 0)
        if qp.peer >= 0:
            edges.add(tuple(sorted((index, qp.peer))))
    return [box for box in boxes if box.lines], edges


def box_of_program(device, program, ends):
    box = Box(f"{program['comm']}[{program['pid']}]")
    mine = {context["handle"] for context in device["contexts"] if context.get("pid") == program["pid"]}
    pds = [pd for pd in device["pds"] if pd["context"] in mine]
    for pd in pds:
        box.add(f"PD {pd['handle']}")
        for mr in (mr for mr in device["mrs"] if mr["pd"] == pd["handle"]):
            box.add(f"MR 0x{mr['key']:08x} {size_text(mr['length'])} {mr['memory']}, {mr['rights']}", 1)
        for qp in (qp for qp in program["qps"] if qp["pd"] == pd["handle"]):
            add_qp(box, qp, 1, ends)
    known = {pd["handle"] for pd in pds}
    for qp in (qp for qp in program["qps"] if qp["pd"] not in known):
        add_qp(box, qp, 0, ends)
    for dm in (dm for dm in device["dms"] if dm["context"] in mine):
        box.add(f"DM {dm['handle']}: {size_text(dm['length'])} at {dm['offset']}")
    return box


def add_qp(box, qp, indent, ends):
    box.add_qp(qp["qpn"], f"QP 0x{qp['qpn']:06x} {qp['type']} {qp['state']}, PSN {qp['sq_psn']} / {qp['rq_psn']}", indent)
    ends[qp["qpn"]] = qp["dest_qpn"]


def boxes_of_device(device):
    ends = {}
    boxes = [box_of_program(device, program, ends) for program in device["programs"]]
    edges = {tuple(sorted((qpn, peer))) for qpn, peer in ends.items() if peer in ends}
    return boxes, edges


def picture(boxes, edges):
    """Boxes side by side, two columns; a line for each connection."""
    parts, where, tops = [], {}, [10, 10]
    for index, box in enumerate(boxes):
        side = index % 2
        x, y, height = 10 + side * (BOX_WIDTH + GAP), tops[side], TOP + LINE * len(box.lines) + 8
        tops[side] += height + 14
        parts.append(f'<rect class="box" x="{x}" y="{y}" width="{BOX_WIDTH}" height="{height}" rx="4"/>')
        parts.append(f'<text class="title" x="{x + 10}" y="{y + 20}">{text(box.title)}</text>')
        for line, (indent, words) in enumerate(box.lines):
            parts.append(f'<text x="{x + 12 + 16 * indent}" y="{y + TOP + LINE * line + 14}">{text(words[:48])}</text>')
        for key, line in box.qp_line.items():
            where[key] = (x if side else x + BOX_WIDTH, y + TOP + LINE * line + 10, side)
    lines = [edge_path(where[a], where[b]) for a, b in sorted(edges) if a in where and b in where]
    width, height = 20 + 2 * BOX_WIDTH + GAP, max(tops)
    return (f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="programs and connections">'
            f'{"".join(lines)}{"".join(parts)}</svg>')


def edge_path(a, b):
    bend_a, bend_b = (-60 if a[2] else 60), (-60 if b[2] else 60)
    return f'<path class="edge" d="M{a[0]} {a[1]} C{a[0] + bend_a} {a[1]} {b[0] + bend_b} {b[1]} {b[0]} {b[1]}"/>'


def arena_map(device):
    """A bar with each allocation at its place."""
    arena, width = device["arena"], 740
    total = arena["bytes"] or 1
    parts = [f'<rect class="free" x="10" y="8" width="{width}" height="34"/>']
    for dm in device["dms"]:
        x, size = 10 + width * dm["offset"] / total, max(1.0, width * dm["length"] / total)
        title = f"<title>{text(size_text(dm['length']))} at {dm['offset']}</title>"
        parts.append(f'<rect class="used" x="{x:.2f}" y="8" width="{size:.2f}" height="34">{title}</rect>')
    label = f"{device['name']}: {size_text(arena['used'])} of {size_text(total)} in use, {len(device['dms'])} allocations"
    return element("p", text(label)) + f'<svg viewBox="0 0 760 50" width="760" height="50" role="img">{"".join(parts)}</svg>'


def objects_html(record, drawn):
    devices = record.objects.get("devices", [])
    if not any(device.get("programs") for device in devices):
        boxes, edges = boxes_of_packets(drawn)
        return element("p", "From the packets. A record (rxe_dm run --record) also has domains and regions.") + picture(boxes, edges)
    parts = []
    for device in devices:
        parts += [element("h3", text(device["name"])), picture(*boxes_of_device(device)), arena_map(device)]
        rows = [[kind, len(device[kind])] for kind in ("contexts", "pds", "mrs", "mws", "dms", "umems", "xrcds") if device[kind]]
        parts.append(table(["objects", "number"], rows, id=f"objects-{device['name']}"))
    return "".join(parts)
