# SPDX-License-Identifier: MIT
"""rxe_dm report: every number of the page against the packets of the capture, as Chromium shows it."""

import collections
import json
import os
import re
import tempfile

import chromium
import pcapng
from cases_capture import Taken
from cases_explore import bugs_of, calls_in
from instance import Instance, free_port
from program import Failure

OPCODES = {0: "RC_SEND_FIRST", 1: "RC_SEND_MIDDLE", 2: "RC_SEND_LAST", 4: "RC_SEND_ONLY", 17: "RC_ACKNOWLEDGE"}
ACKNOWLEDGE = 17
ITERATIONS, MESSAGE = 12, 4096
RULES = (["drop", "opcode=SEND_LAST", "dir=out", "nth=4"], ["rnr_nak", "dir=in", "opcode=SEND_FIRST", "nth=7", "timer=10"])
PROGRAM = re.compile(r"(\S+\[\d+\]) QP 0x([0-9a-f]{6}) RC")


def capture_with_faults(instance, folder):
    instance.command("start")
    for rule in RULES:
        instance.command("fault", "add", *rule)
    taken = Taken(instance, folder, "--both")
    instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", str(ITERATIONS), "-s", str(MESSAGE)])
    taken.end()
    return taken.path, [packet for packet in taken.packets() if packet.sent]


def need(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: the page has {found}, the capture {expected}")


def report(instance, path, *options):
    done = instance.command("report", *options, path)
    if done.returncode != 0:
        raise Failure(f"rxe_dm report: exit {done.returncode}: {done.stderr}")
    return done.stdout.strip()


def lost_on_arrival(path):
    """Packets that a rule dropped where they arrived, by destination and PSN."""
    return collections.Counter((packet.dest_qpn, packet.psn) for packet in pcapng.read(path)[0]
                               if not packet.sent and "; LOST" in packet.comment)


def check_rows(page, sent):
    """The table of all packets, line by line."""
    rows = page.tables["rows"][1:]
    need("number of packets", len(rows), len(sent))
    first = sent[0].time_ns
    for number, (row, packet) in enumerate(zip(rows, sent), 1):
        expected = [str(number), f"{(packet.time_ns - first) / 1000:.3f}", PROGRAM.match(packet.comment)[1], OPCODES[packet.opcode],
                    str(packet.psn), str(len(packet.transport))]
        need(f"packet {number}", [row[0], row[1], row[3], row[5], row[6], row[7]], expected)
        request = re.search(r"(?:SEND|answers SEND) wr_id 0x[0-9a-f]+", packet.comment)
        need(f"packet {number}, its request", row[9], request[0] if request else "")
        if "; LOST" in packet.comment:
            need(f"packet {number}, lost", row[8].split(", ")[0], "lost")


def check_figures(page, path, sent):
    arrivals = lost_on_arrival(path)
    for row in page.tables["figures"][1:]:
        qpn = int(row[0], 16)
        mine = [packet for packet in sent if int(PROGRAM.match(packet.comment)[2], 16) == qpn]
        peer = int(row[3], 16)
        lost = sum("; LOST" in packet.comment for packet in mine) + sum(n for (to, _), n in arrivals.items() if to == peer)
        to_it = [packet for packet in sent if packet.dest_qpn == qpn and packet.opcode == ACKNOWLEDGE]
        need(f"figures of QP {row[0]}: packets, bytes, lost, RNR NAKs, NAKs", [int(row[4]), int(row[5]), int(row[8]), int(row[9]), int(row[10])],
             [len(mine), sum(len(packet.transport) for packet in mine), lost,
              sum(packet.transport[12] >> 5 == 1 for packet in to_it), sum(packet.transport[12] >> 5 == 3 for packet in to_it)])


def check_charts(page, path, sent):
    """Goodput is what the two programs exchanged, whatever was sent again."""
    caption = page.texts["caption-goodput"]
    need("goodput", int(re.match(r"goodput: (\d+) B", caption)[1]), 2 * ITERATIONS * MESSAGE)
    figures = page.tables["figures"][1:]
    for chart, column in (("resent", 7), ("rnr", 9), ("lost", 8)):
        total = int(re.search(r": (\d+)$", page.texts[f"caption-{chart}"])[1])
        need(f"chart of {chart}", total, sum(int(row[column]) for row in figures))
    again = sum(n - 1 for n in collections.Counter((packet.dest_qpn, packet.psn) for packet in sent
                                                   if packet.opcode != ACKNOWLEDGE).values())
    need("packets sent again", sum(int(row[7]) for row in figures), again)


def check_detail(page, number, packet):
    words = page.texts["detail"]
    for expected in (f"packet {number}: {OPCODES[packet.opcode]}", f"destination QP0x{packet.dest_qpn:06x}", f"PSN{packet.psn}"):
        if expected not in words:
            raise Failure(f"the detail of packet {number} lacks '{expected}': {words}")


def drawn(build):
    with tempfile.TemporaryDirectory() as folder, Instance(build, "report") as instance:
        path, sent = capture_with_faults(instance, folder)
        output = report(instance, path)
        need("file", output, os.path.splitext(path)[0] + ".html")
        page = chromium.shown(output, f"whole=1&rows={len(sent) + 1}&p=0")
        check_rows(page, sent)
        check_figures(page, path, sent)
        check_charts(page, path, sent)
        check_detail(page, 1, sent[0])
        lost = next(i for i, packet in enumerate(sent) if "; LOST" in packet.comment)
        check_detail(chromium.shown(output, f"scale=time&theme=dark&p={lost}"), lost + 1, sent[lost])
        if re.search(r"\)s to ", page.texts["failed"]):
            raise Failure(f"a plural is wrong: {page.texts['failed']}")
        links = [href for text, href in page.links if text.startswith("fault 1: drop")]
        need("link of the first rule", links, [f"#p={lost}"])
        print(f"{len(sent)} packets, {len(page.tables['figures']) - 1} queue pairs compared")


RECEIVED, DEPTH = 128, 4
TEXTS = {
    "ibv_post_send": lambda given: f"post SEND wr_id 0x{given['wr_id']:x}, {given['bytes']} B",
    "ibv_post_recv": lambda given: f"post receive wr_id 0x{given['wr_id']:x}, {given['bytes']} B",
    "completion": lambda given: f"completion RECV wr_id 0x{given['wr_id']:x}, {given['bytes']} B" if given["opcode"] == RECEIVED else
                                f"completion SEND wr_id 0x{given['wr_id']:x}",
    "ibv_get_cq_event": lambda given: f"event of CQ {given['cq']}",
    "ibv_modify_qp": lambda given: f"QP 0x{given['qp']:06x} to {('INIT', 'RTR', 'RTS')[given['state'] - 1]}",
}


def shown_at(call):
    """A completion and an event are there when the call returns."""
    return call.time_ns + (call.took_ns if call.verb in ("completion", "ibv_get_cq_event") else 0)


def check_steps(page, process, first_ns):
    """The table of calls, line by line: time, words, and the receives that are posted after each."""
    rows, level = page.tables["steps"][1:], 0
    calls = sorted(process.calls, key=shown_at)
    need("number of calls", len(rows), len(calls))
    for row, call in zip(rows, calls):
        words = TEXTS.get(call.verb, lambda given, verb=call.verb: verb)(call.given)
        need(f"{call.verb}: time, program, call, duration", [row[0], row[1], row[3][:len(words)], row[4]],
             [f"{(shown_at(call) - first_ns) / 1000:.3f}", process.title(), words, f"{call.took_ns / 1000:.3f}"])
        received = call.verb == "completion" and call.given["opcode"] == RECEIVED
        level += (call.verb == "ibv_post_recv") - received
        if received or call.verb == "ibv_post_recv":
            need(f"receives posted after {call.verb}", row[5], str(level))
        if call.verb == "completion":
            need("completions in the CQ", row[6], str(call.given["left"] + 1))


def calls(build):
    """A record of --check: each call beside the ladder, the charts of receives and completions, and the findings on top."""
    with tempfile.TemporaryDirectory() as record, Instance(build, "report_calls") as instance:
        port = free_port()
        program = f"ibv_rc_pingpong -e -g 0 -n {ITERATIONS} -s {MESSAGE} -r {DEPTH} -p {port}".split()
        instance.serve(program, port)
        done = instance.command("run", "--check", "--check-exit", "0", "--record", record, "--", *program, instance.peer_name, timeout_s=60)
        if done.returncode != 0:
            raise Failure(f"rxe_dm run --record: exit {done.returncode}: {done.stderr}")
        path = report(instance, record)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:  # no frame comes: the page shows its rows without one
            file.write(text.replace("<head>", "<head><script>window.requestAnimationFrame = () => 0;</script>"))
        page = chromium.shown(path, "whole=1")
        process, = calls_in(record)
        packets = sorted(pcapng.read(os.path.join(record, "packets.pcapng"))[0], key=lambda packet: packet.time_ns)
        check_steps(page, process, packets[0].time_ns)
        most = max(int(row[6]) for row in page.tables["steps"][1:] if row[6])
        need("charts", [page.texts["caption-receives"], page.texts["caption-fill"]],
             [f"receives posted: at most {DEPTH}", f"completions in the CQs, when they are polled: at most {most}"])
        with open(os.path.join(record, "findings.json"), encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        linked = [text for text, href in page.links if "RXE-" in text and href.startswith("#t=")]
        need("findings on top", [re.search(r"RXE-[A-Z]+-\d+", text)[0] for text in linked], [one["id"] for one in findings])
        if not findings:
            raise Failure("ibv_rc_pingpong sends from the buffer that it receives to: there should be a finding")


# Presses keys in the ladder, prints, and writes what came of it into the page.
HAND = """<pre id="hand"></pre><script>
const lines = [];
function note(name) {
  lines.push([name, view.picked, S.picked, view.from, view.to, canvas.width, document.documentElement.dataset.theme].join(" "));
}
note("start");
for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "n", "c", "c", "C", "0", "+", "End", "Home", "PageDown", "PageUp", "-"]) {
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
  note(key);
}
for (const name of ["beforeprint", "afterprint"]) {
  dispatchEvent(new Event(name));
  note(name);
}
const controls = [...document.querySelectorAll("button, select, a, canvas, summary")];
lines.push("reachable " + controls.filter(one => one.tabIndex >= 0).length + " " + controls.length);
lines.push("marked " + P.flags.findIndex((_, i) => i > 0 && marks(i)));
document.getElementById("hand").textContent = lines.join("\\n");
</script></body>"""


def by_hand(build):
    """All that the mouse does has a key, and a page on paper is light and as wide as the paper, whatever the window is."""
    with tempfile.TemporaryDirectory() as record, Instance(build, "report_by_hand") as instance:
        instance.command("start")
        instance.command("fault", "add", "drop", "opcode=RC_WRITE_ONLY", "dir=out", "nth=4")
        done = instance.command("run", "--record", record, "--", bugs_of(build), "early_ack", "corrected", timeout_s=60)
        if done.returncode != 0:
            raise Failure(f"rxe_dm run --record: exit {done.returncode}: {done.stderr}")
        path = report(instance, record)
        with open(path, encoding="utf-8") as file:
            page = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(page.replace("</body>", HAND))
        lines = [line.split() for line in chromium.shown(path, "theme=dark").texts["hand"].splitlines()]
        print("\n".join(" ".join(line) for line in lines))
        start, down, second, up, marked, call, later, earlier, whole, near, end, home, page_down, page_up, far, paper, screen, controls, first = lines
        lost = re.search(r'<a href="#p=(\d+)">fault 1: drop', page)[1]
        need("packets picked by arrows and n", [start[1], down[1], second[1], up[1], marked[1]], ["-1", "0", "1", "0", first[1]])
        # On a busy machine something is sent again before the rule drops a packet.
        if int(first[1]) > int(lost):
            raise Failure(f"the first mark is at packet {first[1]}, the rule dropped {lost}")
        need("calls picked by c and Shift c", [int(later[2]) - int(call[2]), earlier[2], call[1]], [1, call[2], "-1"])
        spans = [float(line[4]) - float(line[3]) for line in (whole, near, far)]
        if not spans[1] < spans[0] or not spans[1] < spans[2]:
            raise Failure(f"0, + and - show {spans}")
        need("End, Home", [end[4], home[3]], [whole[4], whole[3]])
        if not float(page_down[3]) > float(home[3]) or page_up[3] != home[3]:
            raise Failure(f"Page Down, Page Up: from {home[3]} to {page_down[3]}, {page_up[3]}")
        need("themes on the screen, on paper, on the screen", [start[6], paper[6], screen[6]], ["dark", "light", "dark"])
        if paper[5] == start[5] or screen[5] != start[5]:
            raise Failure(f"the ladder is {start[5]} pixels wide, on paper {paper[5]}, then {screen[5]}")
        need("controls that keys reach", controls[1], controls[2])


def refused(build):
    """What is no capture is named, with what to do; no file is written."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "report_refused") as instance:
        path = os.path.join(folder, "notes.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("nothing")
        for source, words in ((path, "is not a pcapng file"), (folder, "has neither packets.pcapng nor show.json"),
                              (path + ".none", "No such file")):
            done = instance.command("report", source)
            if done.returncode != 1 or words not in done.stderr or len(done.stderr.splitlines()) != 1:
                raise Failure(f"report {source}: exit {done.returncode}: {done.stderr}")
        need("files left", os.listdir(folder), ["notes.txt"])


CASES = {
    "report_drawn": drawn,
    "report_calls": calls,
    "report_by_hand": by_hand,
    "report_refused": refused,
}
