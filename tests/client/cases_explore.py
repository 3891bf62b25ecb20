# SPDX-License-Identifier: MIT
"""rxe_dm explore and rxe_dm run --record, --world: programs with a mistake are found, reduced and repeated, and their corrected
twins survive the same worlds; a record is complete whatever ends the program."""

import argparse
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest.mock
import xml.etree.ElementTree

import pcapng
from instance import Instance, free_port, need_program
from program import Failure, Program, until

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "rxe_dm", "explore")
REPORT = os.path.join(SOURCE, "..", "report")
# The group of worlds in which each program fails, and its last line.
BUGS = {
    "early_ack": ("lossy", "a write is not there"),
    "lost_credit": ("lossy", "no credit is left"),
    "forgotten_receive": ("faulty", "the connection fails again and again"),
    "double_free": ("faulty", "free(): double free"),
    "missing_fence": ("legal", "what was sent is not what was read"),
}
RUNS, CORRECTED_RUNS, REPEATS = 24, 12, 6
SENTENCE = re.compile(r"# fails (\d+) of 10 times with (?:this line|these \d+ lines), (\d+) of 10 without: ")


def bugs_of(build):
    path = os.path.join(build, "tests", "client", "explore_bugs")
    need_program(path)
    return path


def explored(instance, folder, *args, timeout_s=300):
    """Exit status and output of rxe_dm explore."""
    program = Program("rxe_dm explore", [instance.command_path, "explore", "--state", os.path.join(folder, "state"), *args],
                      instance.env)
    instance.programs.append(program)
    return program.wait(timeout_s), program.text()


def need_repeats(instance, world, program):
    """A run in the reduced world fails, in some of a few."""
    for _ in range(REPEATS):
        done = instance.command("run", "--world", world, "--", *program, timeout_s=60)
        if done.returncode != 0:
            return
    raise Failure(f"{REPEATS} runs in {world} passed")


def found(bug):
    """A case: the program is found in its group, its world is small and repeats, and the corrected program survives it."""
    group, words = BUGS[bug]

    def case(build):
        program = [bugs_of(build), bug]
        with tempfile.TemporaryDirectory() as folder, Instance(build, f"explore_{bug}"[:20]) as instance:
            junit = os.path.join(folder, "junit.xml")
            status, text = explored(instance, folder, "--worlds", group, "--runs", str(RUNS), "--junit", junit, "--", *program)
            if status != 1 or words not in text:
                raise Failure(f"explore: exit {status}, expected 1 and '{words}'")
            world = os.path.join(folder, "state", "failure-1", "world")
            with open(world, encoding="utf-8") as file:
                lines = file.read().splitlines()
            counts = SENTENCE.match(lines[0])
            if not counts or int(counts[1]) < 5 or int(counts[2]) != 0:
                raise Failure(f"the sentence is: {lines[0]}")
            print("\n".join(lines))
            if len([line for line in lines if not line.startswith("#")]) > 2:
                raise Failure("more than two lines are left")
            need_repeats(instance, world, program)
            need_suite(junit)
            if not os.path.exists(os.path.join(folder, "state", "failure-1", "report.html")):
                raise Failure("the failure has no report")
    return case


def need_suite(path):
    suite = xml.etree.ElementTree.parse(path).getroot()
    if suite.tag != "testsuite" or int(suite.get("failures")) < 1 or len(suite.findall("testcase/failure")) != int(suite.get("failures")):
        raise Failure(f"JUnit: {xml.etree.ElementTree.tostring(suite)}")


def corrected(build):
    """What is found in the programs with mistakes is not found in the corrected ones; the second call goes on where the first
    ended."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "explore_corrected") as instance:
        for bug, (group, _) in BUGS.items():
            args = ["--worlds", group, "--runs", str(CORRECTED_RUNS), "--", bugs_of(build), bug, "corrected"]
            status, text = explored(instance, folder, *args)
            if status != 0 or f"{CORRECTED_RUNS} worlds" not in text:
                raise Failure(f"{bug}, corrected: exit {status}")
        with open(os.path.join(folder, "state", "state.json"), encoding="utf-8") as file:
            numbers = set(json.load(file).values())
        if numbers != {CORRECTED_RUNS}:
            raise Failure(f"the next worlds are {numbers}")


def modules(*names):
    """Modules of the source tree."""
    sys.path.insert(0, SOURCE)
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(SOURCE)


def rules(build):
    """Every kind of rule that is drawn, with every opcode, is one that a server takes."""
    draw, = modules("draw")
    drawer, kinds = draw.Drawer(1, draw.GROUPS[-1]), {}
    for number in range(600):
        for rule in drawer.world(number).rules():
            words = rule.split()
            kinds.setdefault((words[0], *[word for word in words if word.startswith(("opcode=", "status=", "name="))]), rule)
    found = list(kinds.values())
    if len(found) < 40:
        raise Failure(f"only {len(found)} kinds of rules: {sorted(kinds)}")
    with tempfile.TemporaryDirectory() as folder:
        for at in range(0, len(found), 30):
            path = os.path.join(folder, "rules")
            with open(path, "w", encoding="ascii") as file:
                file.write("\n".join(found[at:at + 30]))
            with Instance(build, "explore_rules", faults=path) as instance:
                done = instance.command("start")
                if done.returncode != 0:
                    raise Failure(f"a rule is refused: {done.stderr}")


class Trial:
    failed = ""

    def sentence(self):
        return "exit 1"


def reduced(_build):
    """Without a device: of seven lines the two remain that together fail, with the smallest count that fails."""
    world, reduce = modules("world", "reduce")
    made = world.parse("worst 7,late_reads,fill\nfault drop opcode=SEND_* nth=30\nfault delay opcode=ACKNOWLEDGE nth=2 time=900us\n"
                       "fault duplicate opcode=SEND_* nth=3\nfault rnr_nak dir=in opcode=SEND_* nth=12..13 timer=1\nkill 2 after=50ms\n")
    tried = []

    def fails(candidate):
        rules = " ".join(candidate.rules())
        at = re.search(r"rnr_nak .* nth=(\d+)", rules)
        return "fill" in candidate.switches() and at and int(at[1]) >= 3

    def many(worlds):
        results = []
        for candidate in worlds:
            tried.append(candidate)
            result = Trial()
            result.failed = "exit 1" if fails(candidate) else ""
            results.append(result)
        return results

    small = reduce.Reducer(many).reduce(made, lambda: False)
    if small.lines() != ["worst 7,fill", "fault rnr_nak opcode=SEND_* nth=3 timer=1"]:
        raise Failure(f"left: {small.lines()} after {len(tried)} trials")
    if world.parse(small.text()) != small:
        raise Failure("a world is not what its text says")
    for wrong in ("drop nth=1", "worst late_reads", "kill it"):
        try:
            world.parse(wrong)
        except world.BadWorld:
            continue
        raise Failure(f"'{wrong}' is taken for a world")


def chosen(_build):
    """Without a device: what failed by chance is not reduced where another world fails again; of rare failures the most frequent is."""
    world, reduce, search = modules("world", "reduce", "search")
    rare, often, large = (world.parse(text) for text in ("fault drop nth=9", "fault drop nth=3", "fault drop nth=1\nfault drop nth=2"))
    group = search.Group(1, large, Trial())
    for made in (rare, often):
        group.add(made)
    if group.worlds != [rare, often, large]:
        raise Failure(f"candidates: {[made.lines() for made in group.worlds]}")
    for counts, expected in (({rare: 0, often: 2, large: 4}, often), ({rare: 0, often: 1, large: 0}, often), ({rare: 3, often: 4, large: 4}, rare)):
        def many(worlds, counts=counts):
            results = [Trial() for _ in worlds]
            for result in results[:counts[worlds[0]]]:
                result.failed = "exit 1"
            return results
        found = reduce.Reducer(many).choose(group.worlds, lambda: False)
        if found != expected:
            raise Failure(f"{list(counts.values())} of 4: {found.lines()} is reduced")


def over(_build):
    """Without a device: when the time is over, what is left to do is bounded, and each failure has its world."""
    world, search = modules("world", "search")
    ran = []

    class Over(search.Search):
        def __init__(self, folder):
            self.options, self.told, self.groups = argparse.Namespace(state=folder), unittest.mock.Mock(), {}
            for number, key in enumerate(("a", "b"), 1):
                self.groups[key] = search.Group(number, world.parse(f"fault drop nth={number}\nfault drop nth=9"), Trial())

        def is_over(self, share=1.0):
            return True

        def many(self, worlds, folder=None):
            ran.extend(worlds)
            return [Trial() for _ in worlds]

    with tempfile.TemporaryDirectory() as folder:
        Over(folder).reduce_all()
        texts = []
        for number in (1, 2):
            with open(os.path.join(folder, f"failure-{number}", "world"), encoding="utf-8") as file:
                texts.append(file.read().splitlines())
    if len(ran) > 9 or not texts[0][0].startswith("# fails 0 of 4 times with these 2 lines, 0 of 4 without") or texts[1][0] != "# not reduced":
        raise Failure(f"{len(ran)} runs: {texts}")
    if [text[2:] for text in texts] != [["fault drop nth=1", "fault drop nth=9"], ["fault drop nth=2", "fault drop nth=9"]]:
        raise Failure(f"worlds: {texts}")


def refused(build):
    """A program that fails by itself is not explored; a world that is none, and a rule that is none, are named."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "explore_refused") as instance:
        status, text = explored(instance, folder, "--", "false")
        if status != 2 or "the program fails without any fault: exit 1" not in text:
            raise Failure(f"explore false: exit {status}: {text}")
        for line, words in (("fault dorp", "dorp"), ("drop nth=1", "expected worst, fault or kill")):
            path = os.path.join(folder, "world")
            with open(path, "w", encoding="ascii") as file:
                file.write(line + "\n")
            done = instance.command("run", "--world", path, "--", "true")
            if done.returncode not in (1, 2) or words not in done.stderr:
                raise Failure(f"--world '{line}': exit {done.returncode}: {done.stderr}")


class Late:
    """A child that ends after some seconds, by a clock that the waits turn."""

    def __init__(self, ends_s):
        self.pid, self.now, self.ends = 1, 0.0, ends_s

    def wait(self, timeout_s):
        self.now += timeout_s
        if self.now < self.ends:
            raise subprocess.TimeoutExpired("late", timeout_s)
        return 0


def starved(_build):
    """Without a device: a run is late by the time in which it had a processor, and not forever. What programs that ended meanwhile have
    waited counts; in an interval at most its length."""
    trial, = modules("trial")
    process = trial.process
    delays = [{"a": 5e9}, {"b": 4e9}, {"b": 5e9, "c": 3e9}, {}, {"d": 99e9}]
    real, process.delays_of = process.delays_of, lambda _group: delays.pop(0)
    waited = process.Starvation(1)
    seen = []
    while delays:
        waited.look(10)
        seen.append(waited.seconds)
    process.delays_of = real
    if seen != [5, 9, 12, 12, 22]:
        raise Failure(f"without a processor: {seen}")
    for ends, share, code in ((15, 0, None), (15, 0.5, 0), (30, 0.5, None), (99, 0.9, 0), (200, 0.99, None)):
        child = Late(ends)

        class Waits:
            seconds = 0.0

            def __init__(self, _group):
                pass

            def look(self, interval_s, share=share):
                self.seconds += share * interval_s

        process.Starvation = Waits
        if trial.in_time(child, 10, lambda child=child: child.now) != code:
            raise Failure(f"a run of {ends} s that has no processor for {share} of them, of 10 s: not {code}")


def group_of(trial, *findings):
    """The group of a run with these findings: pairs of id and text."""
    plan, result = trial.Plan("rxe_dm", ["program"]), trial.Result()
    plan.check = ["--check=all"]
    result.findings = [{"id": name, "name": "a-check", "text": text} for name, text in findings]
    trial.judge(result, trial.CHECK_STATUS, plan)
    return result.key()


def checked(build):
    """A finding is a failure, which its id names: with other numbers it is the same failure, with another id another one. Suppressed,
    it is none."""
    trial, = modules("trial")
    one, same, other = (group_of(trial, (name, f"QP 0x{number} was destroyed twice")) for name, number in
                        (("RXE-LIFE-004", "000017"), ("RXE-LIFE-004", "02a6af"), ("RXE-LIFE-003", "000017")))
    if one != same or one == other or "RXE-LIFE-004 a-check" not in one[0]:
        raise Failure(f"groups: {one}, {same}, {other}")
    plan, noted = trial.Plan("rxe_dm", ["program"]), trial.Result()
    plan.check = ["--check=all"]
    noted.findings = [{"id": "RXE-A-1", "name": "a", "text": "a note", "level": "note"},
                      {"id": "RXE-B-1", "name": "b", "text": "b is wrong", "level": "error"}]
    trial.judge(noted, trial.CHECK_STATUS, plan)
    if (noted.failed, noted.last) != ("finding RXE-B-1 b", "b is wrong"):
        raise Failure(f"a note beside a finding: {noted.failed}: {noted.last}")
    program = [os.path.join(build, "tests", "client", "mistakes", "mistakes"), "life_twice"]
    need_program(program[0])
    with tempfile.TemporaryDirectory() as folder, Instance(build, "explore_checked") as instance:
        status, text = explored(instance, folder, "--check", "--", *program)
        if status != 2 or "the program fails without any fault: finding RXE-LIFE-004 destroyed-twice" not in text:
            raise Failure(f"explore --check: exit {status}: {text}")
        suppressions = os.path.join(folder, "suppressions")
        with open(suppressions, "w", encoding="ascii") as file:
            file.write("id:RXE-LIFE-004\n")
        status, text = explored(instance, folder, "--check", "--check-suppressions", suppressions, "--runs", "2", "--", *program)
        if status != 0 or "2 worlds" not in text:
            raise Failure(f"explore --check-suppressions: exit {status}: {text}")


def calls_in(folder):
    """The processes of a record, as the report reads them."""
    sys.path.insert(0, REPORT)
    try:
        import calls
        return calls.read_folder(folder)
    finally:
        sys.path.remove(REPORT)


def count(process, verb, **given):
    """Calls of a verb with these arguments and without an error."""
    return sum(call.verb == verb and not call.error and given.items() <= call.given.items() for call in process.calls)


def calls(build):
    """Every verb of a pingpong is in the record: posts with their bytes, completions, states of the queue pair, in the order of time.
    Under --check as well."""
    messages, size = 12, 3000
    program = "ibv_rc_pingpong -g 0 -n {} -s {} -p {}".format(messages, size, "{}")
    for number, options in enumerate(([], ["--check", "--check-exit", "0"])):
        with tempfile.TemporaryDirectory() as record, Instance(build, f"record_calls_{number}") as instance:
            port = free_port()
            instance.serve(program.format(port).split(), port)
            done = instance.command("run", *options, "--record", record, "--", *program.format(port).split(), instance.peer_name,
                                    timeout_s=60)
            if done.returncode != 0:
                raise Failure(f"rxe_dm run --record: exit {done.returncode}: {done.stderr}")
            process, = calls_in(record)
            qpn = next(call.given["qp"] for call in process.calls if call.verb == "ibv_create_qp")
            found = {"sends": count(process, "ibv_post_send", qp=qpn, bytes=size, opcode=2), "receives": count(process, "completion", qp=qpn,
                     status=0, opcode=128, bytes=size), "sent": count(process, "completion", qp=qpn, status=0, opcode=0),
                     "states": [call.given["state"] for call in process.calls if call.verb == "ibv_modify_qp"],
                     "objects": count(process, "ibv_alloc_pd") + count(process, "ibv_reg_mr", length=size) + count(process, "ibv_destroy_qp"),
                     "comm": process.comm, "missing": process.missing}
            if found != {"sends": messages, "receives": messages, "sent": messages, "states": [1, 2, 3], "objects": 3,
                         "comm": "ibv_rc_pingpong", "missing": 0}:
                raise Failure(f"{options}: {found}")
            need_times(process, parsed(record, "run.json"))


OPENS = """import ctypes, sys
verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
verbs.ibv_get_device_list.restype = verbs.ibv_open_device.restype = ctypes.c_void_p
devices = verbs.ibv_get_device_list(None)
context = verbs.ibv_open_device(ctypes.c_void_p(ctypes.cast(devices, ctypes.POINTER(ctypes.c_void_p))[0]))
sys.exit(verbs.ibv_close_device(ctypes.c_void_p(context)) if context else 1)
"""


def loaded(build):
    """A program that loads the library while it runs is recorded: UCX and NCCL do so, and such a library has little room for variables
    of threads."""
    for number, options in enumerate(([], ["--check"])):
        with tempfile.TemporaryDirectory() as record, Instance(build, f"record_loaded_{number}") as instance:
            done = instance.command("run", *options, "--record", record, "--", sys.executable, "-c", OPENS, timeout_s=60)
            if done.returncode != 0:
                raise Failure(f"{options}: exit {done.returncode}: {done.stderr}")
            process, = calls_in(record)
            if [call.verb for call in process.calls] != ["ibv_open_device", "ibv_close_device"]:
                raise Failure(f"{options}: {process.calls}")


# Both ends of a connection; then a client whose server is not there.
CONNECT = """rping -s -a {address} -p {port} -C 3 & server=$!
until "$RXE_DM" show --json | grep -q '"listening"'; do :; done
rping -c -a {address} -p {port} -C 3 && wait $server && ! rping -c -a {address} -p {other} -C 3
"""
CM_EVENTS = {"address": 0, "route": 2, "request": 4, "rejected": 8, "established": 9, "disconnected": 10}


def steps_of(process):
    """The calls of librdmacm, in the order in which they began; events by their names, when they were there."""
    names = {number: name for name, number in CM_EVENTS.items()}
    found = sorted((call for call in process.calls if call.verb.startswith("rdma_")),
                   key=lambda call: call.time_ns + (call.took_ns if call.verb == "rdma_get_cm_event" else 0))
    return [names[call.given["event"]] if call.verb == "rdma_get_cm_event" else call.verb[len("rdma_"):] for call in found
            if call.verb != "rdma_ack_cm_event"]


def cm(build):
    """Calls of librdmacm with ids, addresses, results and events, of both ends and of a client that is refused; its cause is on top of
    the report, and the events beside the ladder. Under --check as well."""
    for number, options in enumerate(([], ["--check", "--check-exit", "0"])):
        with tempfile.TemporaryDirectory() as record, Instance(build, f"record_cm_{number}") as instance:
            need_program("rping")
            port, other = free_port(), free_port()
            script = CONNECT.format(address=instance.address, port=port, other=other)
            instance.env["RXE_DM"] = instance.command_path
            done = instance.command("run", *options, "--record", record, "--", "bash", "-c", script, timeout_s=60)
            if done.returncode != 0:
                raise Failure(f"rxe_dm run --record: exit {done.returncode}: {done.stderr} {done.stdout}")
            server, client, refused = sorted(calls_in(record), key=lambda process: process.calls[0].time_ns)
            need_cm(server, "bind_addr listen request create_qp accept established disconnected", port)
            need_cm(client, "resolve_addr address resolve_route route create_qp connect established disconnect destroy_id", port)
            need_cm(refused, "resolve_addr address resolve_route route create_qp connect rejected", other)
            text = instance.command("report", record, "-o", "-").stdout
            cause = f"no listener on port {other} at "
            if not re.search(rf'<a href="#t=\d+">process {refused.pid}, tcp [^<]*{cause}', text):
                raise Failure(f"'{cause}' is not in the report, with a link")
            for words in ("event REJECTED of id 0x", "event ESTABLISHED of id 0x", f"address {instance.address}, port {other}"):
                if words not in text:
                    raise Failure(f"'{words}' is not in the report")


def need_cm(process, words, port):
    """These steps come in this order, among others, all of ids that were made; the port is that of the first."""
    steps, rest = words.split(), iter(steps_of(process))
    if not all(step in rest for step in steps):
        raise Failure(f"{process.title()}: {steps_of(process)}, expected {steps}")
    ids = {call.given["id"] for call in process.calls if call.verb == "rdma_create_id" or call.given.get("event") == CM_EVENTS["request"]}
    used = {call.given["id"] for call in process.calls if call.verb.startswith("rdma_") and "id" in call.given}
    first = next(call for call in process.calls if call.verb == f"rdma_{steps[0]}")
    if not used or used - ids or first.given["port"] != port or any(call.error for call in process.calls):
        raise Failure(f"{process.title()}: ids {ids}, used {used}, {first}")


def need_times(process, run):
    """Calls lie in the time of the run, by the clock of the capture."""
    times = [call.time_ns for call in process.calls]
    if times != sorted(times) or not run["began_ns"] <= times[0] <= times[-1] <= run["ended_ns"]:
        raise Failure(f"calls from {times[0]} to {times[-1]} in a run from {run['began_ns']} to {run['ended_ns']}")


def parsed(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def killed(build):
    """The client is killed under --record: packets, objects, counters and the signal are in the folder, and in the report."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "record_killed") as instance:
        port, record = free_port(), os.path.join(folder, "record")
        instance.serve(["ibv_rc_pingpong", "-g", "0", "-n", "100000000"], port)
        client = Program("recorded", [instance.command_path, "run", "--record", record, "--record-size", "4", "--", "ibv_rc_pingpong", "-g", "0",
                                      "-n", "100000000", "-p", str(port), instance.peer_name], instance.env)
        instance.programs.append(client)

        def of_client():
            """Once the record has it."""
            if not os.path.exists(os.path.join(record, "objects.json")):
                return []
            return [program["pid"] for device in parsed(record, "objects.json")["devices"] for program in device["programs"]
                    if program["counters"]["sent_pkts"] > 3000 and str(port) in command_line(program["pid"])
                    and instance.peer_name in command_line(program["pid"])]

        until(of_client, "client that sends")
        os.kill(of_client()[0], signal.SIGKILL)
        if client.wait(60) != 128 + signal.SIGKILL:
            raise Failure(f"rxe_dm run --record: exit {client.process.returncode}")
        run, objects = parsed(record, "run.json"), parsed(record, "objects.json")
        if run["signal"] != signal.SIGKILL or len(objects["devices"][0]["programs"]) != 2:
            raise Failure(f"the record: {run}, {len(objects['devices'][0]['programs'])} programs")
        sizes = [os.path.getsize(os.path.join(record, name)) for name in ("packets.pcapng", "packets.old.pcapng")]
        packets, _, _ = pcapng.read(os.path.join(record, "packets.pcapng"))
        if sum(sizes) > 4 << 20 or len(packets) == 0:
            raise Failure(f"4 MiB of packets: {sizes} bytes, {len(packets)} in the newer file")
        with open(os.path.join(record, "samples.jsonl"), encoding="utf-8") as file:
            samples = [json.loads(line) for line in file]
        sent = [sample["devices"][0]["counters"]["sent_pkts"] for sample in samples]
        if not sent or sent != sorted(sent) or sent[-1] < 1000:
            raise Failure(f"counters over time: {sent[:20]}")
        process, = calls_in(record)
        posts = count(process, "ibv_post_send") + process.missing
        if posts < 500 or count(process, "completion", status=0) < 500:
            raise Failure(f"{posts} posts are in the record of a killed program")
        done = instance.command("report", record, "-o", "-")
        if done.returncode != 0 or "was ended by signal 9" not in done.stdout:
            raise Failure(f"report: exit {done.returncode}: {done.stderr}")


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")
    except OSError:
        return []


def causes(build):
    """A queue pair fails under --record: its sentence is at the top of the report, word for word, and the page fetches nothing."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "record_causes") as instance:
        record = os.path.join(folder, "record")
        instance.command("start")
        instance.command("fault", "add", "completion", "status=IBV_WC_RETRY_EXC_ERR", "side=send", "nth=3")
        done = instance.command("run", "--record", record, "--", bugs_of(build), "early_ack", timeout_s=60)
        if done.returncode != 1:
            raise Failure(f"rxe_dm run --record: exit {done.returncode}: {done.stderr}")
        text = instance.command("report", record, "-o", "-").stdout
        cause = parsed(record, "show.json")["devices"][0]["failures"][0]["cause"]
        if cause.replace("'", "&#x27;") not in text or "ended with status 1" not in text:
            raise Failure(f"'{cause}' is not in the report")
        outside = re.findall(r"""(?:src|href)\s*=\s*["']?(?!["'#])[^\s>]+|https?://(?!www\.w3\.org/2000/svg)|@import|url\(""", text)
        if outside:
            raise Failure(f"the page refers to {outside[:3]}")


CASES = {
    **{f"explore_{bug}": found(bug) for bug in BUGS},
    "explore_corrected": corrected,
    "explore_checked": checked,
    "explore_reduced": reduced,
    "explore_chosen": chosen,
    "explore_over": over,
    "explore_starved": starved,
    "explore_rules": rules,
    "explore_refused": refused,
    "record_calls": calls,
    "record_cm": cm,
    "record_loaded": loaded,
    "record_killed": killed,
    "record_causes": causes,
}
