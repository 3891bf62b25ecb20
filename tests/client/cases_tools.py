# SPDX-License-Identifier: MIT
"""The small tools: what a person types first."""

import re
import signal
import subprocess
import time

from instance import Instance, clean_environment, free_port, need_program
from program import Failure, Program, until


def need(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.MULTILINE):
            raise Failure(f"no line like '{pattern}'")


def devices(build):
    with Instance(build, "devices") as instance:
        need(instance.run(["ibv_devices"]), r"^\s+rxe_dm0\s+[0-9a-f]{16}$")


def two_devices(build):
    with Instance(build, "two_devices", address="127.63.1.1,127.63.1.2", devices=2) as instance:
        need(instance.run(["ibv_devices"]), r"rxe_dm0", r"rxe_dm1")
        need(instance.run(["ibv_devinfo", "-v", "-d", "rxe_dm1"]), r"::ffff:127\.63\.1\.2")


def devinfo(build):
    with Instance(build, "devinfo") as instance:
        text = instance.run(["ibv_devinfo", "-v"])
        need(text, r"hca_id:\s+rxe_dm0", r"state:\s+PORT_ACTIVE", r"link_layer:\s+Ethernet",
             rf"GID\[\s*0\]:\s+::ffff:{re.escape(instance.address)}, RoCE v2",
             r"atomic_cap:\s+ATOMIC_HCA", r"max_mtu:", r"max_qp:\s+[1-9]")
        if re.search(r"sys_image_guid:\s+0000:0000:0000:0000", text):
            raise Failure("sys_image_guid is zero")


def devinfo_list(build):
    with Instance(build, "devinfo_list") as instance:
        need(instance.run(["ibv_devinfo", "-l"]), r"1 HCA found", r"rxe_dm0")


def asyncwatch(build):
    """It waits for events; when the server goes, the device is gone and the program is told."""
    with Instance(build, "asyncwatch") as instance:
        watch = instance.start(["stdbuf", "-oL", "ibv_asyncwatch"])
        watch.wait_for_line(r"rxe_dm0: async event FD \d+")
        instance.command("stop")
        watch.wait_for_line(r"event_type.*(fatal|FATAL)")


def no_hang_in_substitution(build):
    """$(...) waits for everyone who holds the pipe: the server must not."""
    with Instance(build, "substitution") as instance:
        need_program("ibv_devices")
        done = instance.command("run", "--", "timeout", "2", "sh", "-c", 'x=$(ibv_devices) && echo "$x"')
        if done.returncode != 0:
            raise Failure(f"exit {done.returncode}: {done.stdout}{done.stderr}")
        need(done.stdout, "rxe_dm0")


def start_times(build):
    """Printed, not judged: a loaded machine is slow and no flaw of ours."""
    with Instance(build, "start_times") as instance:
        need_program("ibv_devices")
        for what in ("server not yet started", "server running"):
            begun = time.monotonic()
            instance.run(["ibv_devices"])
            print(f"ibv_devices, {what}: {(time.monotonic() - begun) * 1000:.1f} ms")
        bare = clean_environment()
        begun = time.monotonic()
        subprocess.run(["ibv_devices"], env=bare, capture_output=True, check=False)
        print(f"ibv_devices, without our library: {(time.monotonic() - begun) * 1000:.1f} ms")


CLEAR = "\033[H\033[2J"  # in front of each view of a terminal
# A row of `show --watch`: QPS, SENT MB/s, RCVD MB/s, PACKETS/s, RETRY/s, RNR/s, DROP/s.
RATES = r"^ *{} ibv_rc_pingpong +(\d+) +([\d.]+) +([\d.]+) +(\d+) +(\d+) +(\d+) +(\d+)$"


def rates_of(watch, pid, since):
    """The rows of a program in what was printed since."""
    return [tuple(map(float, row)) for row in re.findall(RATES.format(pid), watch.text()[since:], re.MULTILINE)]


def watched(watch, pid, condition, what):
    """Waits for a row, printed from now on, of which the condition holds."""
    since = len(watch.text())
    watch.wait_until(lambda: any(condition(*row) for row in rates_of(watch, pid, since)), what)


def show_watch(build):
    """A program that sends has rates, one that is stopped has none, one that was killed has no row; Ctrl-C ends the command."""
    with Instance(build, "show_watch") as instance:
        port = free_port()
        endless = ["ibv_rc_pingpong", "-g", "0", "-n", "100000000"]
        server = instance.serve(endless, port)
        client = instance.join(endless, port)
        watch = Program("rxe_dm show --watch", [instance.command_path, "show", "--watch", "--every", "100"], instance.env)
        instance.programs.append(watch)
        for program in (server, client):
            watched(watch, program.pid, lambda qps, sent, received, packets, *_: qps == 1 and sent > 0 and received > 0 and packets > 1,
                    "rates of a program that sends")
        for program in (server, client):
            program.kill(signal.SIGSTOP)
        watched(watch, client.pid, lambda qps, *rates: qps == 1 and not any(rates), "no rates of a stopped program")
        for program in (server, client):
            program.kill()
        server.wait(30)
        client.wait(30)
        until(lambda: not instance.show()["devices"][0]["programs"], "end of both programs")
        views = watch.text().count(CLEAR)
        watch.wait_until(lambda: watch.text().count(CLEAR) > views + 2, "more views")
        if any(re.search(RATES.format(program.pid), watch.text().split(CLEAR)[-2], re.MULTILINE) for program in (server, client)):
            raise Failure("a program that was killed has a row")
        watch.kill(signal.SIGINT)
        watch.wait(30)


CASES = {
    "devices": devices,
    "two_devices": two_devices,
    "devinfo": devinfo,
    "devinfo_list": devinfo_list,
    "asyncwatch": asyncwatch,
    "no_hang_in_substitution": no_hang_in_substitution,
    "show_watch": show_watch,
    "start_times": start_times,
}
