# SPDX-License-Identifier: MIT
"""rxe_dm fault: programs come through what the rules do to their packets, and each rule says how often it fired."""

import functools
import json
import os
import re
import subprocess
import tempfile
import time

from instance import Instance, free_port, need_program, sanitizer_environment
from program import Failure, Program, until

LOSS = ["drop probability=1% seed=7"]
BW = ["-F", "-x", "0", "-q", "4"]


def add(instance, *rules):
    for rule in rules:
        done = instance.command("fault", "add", *rule.split())
        if done.returncode != 0:
            raise Failure(f"fault add {rule}: {done.returncode}: {done.stderr}")


def fired(instance):
    done = instance.command("fault", "list", "--json")
    if done.returncode != 0:
        raise Failure(f"fault list: {done.stderr}")
    return [row["fired"] for row in json.loads(done.stdout)]


def through(build, name, rules, *programs, must_fire=True):
    """Each pair of programs ends well, and each rule has fired."""
    with Instance(build, name, linger=0) as instance:
        instance.command("start")
        add(instance, *rules)
        for args in programs:
            instance.pair(args)
        counts = fired(instance)
        print(f"{rules}: fired {counts}")
        if must_fire and not all(counts):
            raise Failure(f"a rule did not fire: {rules}: {counts}")


def pingpong(build):
    """Intact (-c) through each kind of trouble."""
    for name, rule in (("loss_1", "drop probability=1% seed=7 dir=out opcode=SEND_*"),
                       ("reorder", "reorder probability=1% seed=7 dir=out opcode=SEND_*"),
                       ("duplicate", "duplicate probability=1% seed=7"),
                       ("corrupt", "corrupt probability=0.5% seed=7 dir=out opcode=SEND_*")):
        through(build, f"fault_{name}", [rule], ["ibv_rc_pingpong", "-c", "-g", "0", "-n", "300", "-s", "8192"])


def srq_pingpong(build):
    through(build, "fault_srq", ["drop probability=1% seed=7 dir=out opcode=SEND_*"],
            ["ibv_srq_pingpong", "-c", "-g", "0", "-n", "300"])


def exit_at_once(build):
    """The pingpongs end with their last completion: what is lost of the last ACK costs the other side nothing."""
    for program in ("ibv_rc_pingpong", "ibv_srq_pingpong"):
        for percent in (1, 5):
            rules = [f"drop probability={percent}% seed={percent}"]
            through(build, f"exit_at_once_{percent}", rules, *[[program, "-c", "-g", "0", "-n", "100"]] * 8)


def time_wait(build, many=(None, 3)):
    """The ACK itself is dropped, and the first in its place: once with so few slots that the next process has the one before's."""
    for slots in many:
        with Instance(build, "time_wait", linger=0, **({"slots": slots} if slots else {})) as instance:
            instance.command("start")
            add(instance, "drop opcode=ACKNOWLEDGE dir=in nth=1..2")
            instance.run([os.path.join(build, "tests", "client", "verbs_time_wait")], timeout_s=120)
            if fired(instance)[0] < 12:
                raise Failure(f"ACKs were dropped {fired(instance)[0]} times only")


def perftest(build):
    """RC: all operations through one packet in a hundred lost."""
    through(build, "fault_perftest", LOSS,
            ["ib_send_bw", *BW, "-s", "65536", "-n", "100"], ["ib_write_bw", *BW, "-s", "65536", "-n", "100"],
            ["ib_read_bw", *BW, "-s", "65536", "-n", "100"], ["ib_atomic_bw", *BW, "-n", "500"])


FIRING = re.compile(r"fault \d+: (\w+) (\w+) psn \d+ \(\+(\d+)\) of QP 0x\w+ \(#(\d+)\) (to|from) QP 0x\w+, attempt (\d+)")


def firings(text):
    """What fired in one program: action, opcode, place behind the connection's first PSN, QP by order, direction, attempt."""
    return sorted(FIRING.findall(text))


def repeatable(build):
    """Two runs, whose first PSNs are chosen at random, lose exactly the same packets, in each program."""
    runs = []
    for _ in range(2):
        with Instance(build, "fault_again", linger=0) as instance:
            instance.env["VERBS_LOG_LEVEL"] = "3"
            instance.command("start")
            add(instance, "drop probability=3% seed=11 dir=out opcode=SEND_* attempt=0",
                "duplicate probability=2% seed=5 dir=in opcode=SEND_* attempt=0")
            texts = instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "300"])
            runs.append([firings(text) for text in texts])
            if sum(map(len, runs[-1])) != sum(fired(instance)):
                raise Failure(f"counted {fired(instance)}, told of {runs[-1]}")
    print(runs[0])
    if runs[0] != runs[1] or not all(runs[0]):
        raise Failure(f"two runs differ: {runs}")


def rnr_storm(build):
    """A responder that says it is not ready, five times: the requester waits and comes again."""
    through(build, "fault_rnr", ["rnr_nak dir=in opcode=SEND_ONLY nth=1..5 timer=1"],
            ["ib_send_lat", "-F", "-x", "0", "-n", "50"])


def rnr_burst(build):
    """In the middle of what arrives together, too: the one before it has been carried out when it is answered."""
    through(build, "fault_rnr_burst", ["rnr_nak dir=in opcode=SEND_ONLY nth=5..9 timer=1",
                                       "nak code=psn_sequence dir=in opcode=SEND_ONLY nth=20"],
            ["ib_send_bw", *BW, "-s", "64", "-n", "200"])


def command(build):
    """Rules by hand and by file, what is wrong with a bad one, and clearing."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rules")
        with open(path, "w", encoding="ascii") as f:
            f.write("# two rules\ndrop nth=3\n\ndelay time=5ms opcode=ACKNOWLEDGE\n")
        with Instance(build, "fault_command", faults=path) as instance:
            instance.command("start")
            rows = json.loads(instance.command("fault", "list", "--json").stdout)
            if [row["rule"].split()[0] for row in rows] != ["drop", "delay"]:
                raise Failure(f"the file's rules are {rows}")
            for bad, says in (("drop nht=3", "unknown word"), ("drop nth=0", "a count from 1"), ("lose", "known are drop"),
                              ("drop nth=1 --device rxe_dm0", "options stand before the rule")):
                done = instance.command("fault", "add", *bad.split())
                if done.returncode != 2 or says not in done.stderr:
                    raise Failure(f"{bad}: {done.returncode}: {done.stderr}")
            if instance.command("fault", "clear", "1").returncode != 0 or len(fired(instance)) != 1:
                raise Failure("one rule was to be cleared")
            if instance.command("fault", "clear", "1").returncode != 1:
                raise Failure("a rule that is gone was cleared")
            if instance.command("fault", "clear").returncode != 0 or fired(instance):
                raise Failure("all rules were to be cleared")
            for args in (("--device=rxe_dm0", "add"), ("add", "--device", "rxe_dm0")):
                done = instance.command("fault", *args, "drop", "nth=5")
                if done.returncode != 0:
                    raise Failure(f"fault {args}: {done.stderr}")
            if instance.command("fault", "list", "--device", "rxe_dm5").returncode != 1:
                raise Failure("rules of a device that is not there")
        with open(path, "w", encoding="ascii") as f:
            f.write("drop\nbend nth=1\n")
        with Instance(build, "fault_bad_file", faults=path) as instance:
            done = instance.command("start")
            if done.returncode == 0 or not re.search(r"line 2: unknown action 'bend'", done.stderr):
                raise Failure(f"a bad file: {done.returncode}: {done.stderr}")


def nobody(build):
    """Where nothing runs there are no rules, and nothing is started to look for them. Rules keep a server, which show says."""
    with Instance(build, "fault_nobody") as instance:
        for args, status, says in ((["list"], 0, "is not running"), (["list", "--json"], 0, "[]"), (["clear"], 0, ""),
                                   (["clear", "1"], 1, "no rule 1")):
            done = instance.command("fault", *args)
            if done.returncode != status or says not in done.stdout + done.stderr:
                raise Failure(f"fault {args}: {done.returncode}: {done.stdout}{done.stderr}")
        if instance.server_pid():
            raise Failure("a server was started to look for rules")
        add(instance, "drop probability=1%")
        if "stays while there are fault rules" not in instance.command("show").stdout or not instance.show()["held_by_faults"]:
            raise Failure(f"show does not say that rules keep the server: {instance.command('show').stdout}")


def relative_file(build):
    """A relative path counts from the folder of the program that names it, whichever process starts the server."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rules"), "w", encoding="ascii") as f:
            f.write("drop nth=77\n")
        for args in (["start", "--faults", "rules"], ["run", "--faults=rules", "--", "ibv_devices"]):
            with Instance(build, "fault_relative") as instance:
                done = subprocess.run([instance.command_path, *args], env=dict(instance.env, **sanitizer_environment()), cwd=folder,
                                      capture_output=True, text=True, timeout=20, check=False)
                rows = instance.command("fault", "list").stdout
                if done.returncode != 0 or "drop nth=77" not in rows:
                    raise Failure(f"{args}: {done.returncode}: {done.stderr}: {rows}")


def shown(build):
    """show tells of rules, what they did, and what has become of the device."""
    with Instance(build, "fault_shown") as instance:
        instance.command("start")
        add(instance, "port_down", "gid_change to=2", "verb name=ibv_alloc_pd errno=ENOMEM")
        device = instance.show()["devices"][0]
        if device["port_state"] != "DOWN" or device["fatal"] or [g["index"] for g in device["gids"]] != [2]:
            raise Failure(f"show --json: {device}")
        if [(f["number"], f["fired"]) for f in device["faults"]] != [(1, 1), (2, 1), (3, 0)]:
            raise Failure(f"show --json: {device['faults']}")
        if "fault 2, fired 1: gid_change index=0 to=2" not in instance.command("show").stdout:
            raise Failure(f"show: {instance.command('show').stdout}")
        add(instance, "device_fatal after=1ms")
        until(lambda: instance.show()["devices"][0]["fatal"], "a fatal device")
        instance.command("fault", "clear")
        device = instance.show()["devices"][0]
        if device["port_state"] != "ACTIVE" or device["fatal"] or [g["index"] for g in device["gids"]] != [0]:
            raise Failure(f"cleared: {device}")


def status_named(build):
    """A status that only a rule can give is named in show like any other."""
    with Instance(build, "fault_status_named") as instance:
        instance.command("start")
        add(instance, "completion status=LOC_RDD_VIOL_ERR side=send nth=5")
        port = free_port()
        instance.serve(["ibv_rc_pingpong", "-g", "0"], port)
        instance.join(["ibv_rc_pingpong", "-g", "0"], port)  # both end with the instance
        until(lambda: any(f["status"] == "LOC_RDD_VIOL_ERR" for f in instance.show()["devices"][0]["failures"]), "failure of that name")


def timed(build):
    """After a while, and for a while."""
    with Instance(build, "fault_timed") as instance:
        instance.command("start")
        before = time.monotonic()
        add(instance, "port_down after=300ms time=2s")
        state = instance.show()["devices"][0]["port_state"]
        if state != "ACTIVE" and time.monotonic() - before < 0.3:  # a busy machine may answer later
            raise Failure("the port is down before its time")
        until(lambda: instance.show()["devices"][0]["port_state"] == "DOWN", "port that is down")
        until(lambda: instance.show()["devices"][0]["port_state"] == "ACTIVE", "port that is up again")
        if fired(instance) != [1]:
            raise Failure(f"fired {fired(instance)}")


def docs_examples():
    """The scripts of docs/FAULTS.md: their own text, to the letter."""
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "FAULTS.md"), encoding="utf-8") as f:
        blocks = re.findall(r"(?:^    .*\n)+", f.read(), re.M)
    return ["".join(line[4:] for line in block.splitlines(True)) for block in blocks if block.startswith("    #!/bin/sh")]


def docs_verbs(_build):
    """docs/FAULTS.md names the verbs and the calls of librdmacm that can fail, all of them and no other."""
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    with open(os.path.join(root, "docs", "FAULTS.md"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(root, "lib", "inject", "verb.h"), encoding="ascii") as f:
        table = f.read()
    for block, prefix, macro in (("verbs", "ibv", r"\bX\((\w+), [A-Z]+\)"), ("rdma", "rdma", r"\bX\((\w{3,})\)")):
        named = set(re.findall(rf"`{prefix}_(\w+)`", re.search(rf"<!-- {block} -->(.*?)<!-- end -->", text, re.S).group(1)))
        known = set(re.findall(macro, table)) - {"name"}
        if not known or named != known:
            raise Failure(f"docs/FAULTS.md lacks {sorted(known - named)} and has {sorted(named - known)} too many")


def example(build, number):
    scripts = docs_examples()
    if len(scripts) != 3 or any(len(script.splitlines()) > 10 for script in scripts):
        raise Failure(f"docs/FAULTS.md has {len(scripts)} scripts, of {[len(s.splitlines()) for s in scripts]} lines")
    need_program("ib_write_bw")
    with Instance(build, f"fault_docs_{number}") as instance, tempfile.NamedTemporaryFile("w", suffix=".sh") as f:
        f.write(scripts[number])
        f.flush()
        path = os.path.dirname(instance.command_path) + ":" + instance.env["PATH"]
        program = Program("docs/FAULTS.md", ["sh", "-e", f.name], dict(instance.env, PATH=path, **sanitizer_environment()))
        instance.programs.append(program)
        if program.wait(60) != 0:
            raise Failure("the script fails")
        if instance.server_pid():
            raise Failure("the script leaves a server behind")


CASES = {f"fault_docs_{name}": functools.partial(example, number=number)
         for number, name in enumerate(("lost_ack", "rnr_storm", "port_down"))}
CASES |= {f"fault_{f.__name__}": f for f in (docs_verbs, pingpong, srq_pingpong, exit_at_once, time_wait, perftest, repeatable, rnr_storm, rnr_burst, command,
                                              nobody, relative_file, shown, status_named, timed)}
