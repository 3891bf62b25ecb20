# SPDX-License-Identifier: MIT
"""Small programs of the public verbs (verbs_*.c), each against a device of its own."""

import functools
import os
import re
import shutil
import time

from cases_server import as_nobody, need_line, need_reachable
from cases_trouble import leftovers, wait_clean
from explained import explained
from huge_pages import free, huge_pages, in_pool, pool_kib
from instance import Instance
from program import Failure, Skip, until

PROGRAMS = ["verbs_rc", "verbs_errors", "verbs_cq", "verbs_events", "verbs_srq", "verbs_ud",
            "verbs_share", "verbs_pd", "verbs_wr", "verbs_dm", "verbs_dmah", "verbs_null_mr", "verbs_comp_cntr", "verbs_rate", "verbs_flush", "verbs_odp", "verbs_odp_pages", "verbs_odp_share", "verbs_bad", "verbs_errno", "verbs_bad_handles", "verbs_reasons", "verbs_reasons_rare", "verbs_fork", "verbs_threads", "verbs_cancel", "verbs_filtered",
            "verbs_regions", "verbs_mw", "verbs_mw_share", "verbs_control", "verbs_delayed_ack", "verbs_xrc", "verbs_faults",
            "verbs_refused", "verbs_closefrom", "verbs_migration", "verbs_tag", "verbs_clock", "verbs_counters", "verbs_flow", "verbs_raw", "verbs_raw_faults"]

READS_ITS_STDERR = ["verbs_fork"]


def verbs(build, name, **settings):
    """Each call that returns an error must have a reason."""
    with Instance(build, name, **settings) as instance, explained() as log:
        instance.run([os.path.join(build, "tests", "client", name)], timeout_s=240,
                     env=dict({"RXE_TEST_COMMAND": instance.command_path}, **({} if name in READS_ITS_STDERR else log)))


def refusals_shown(build):
    """`rxe_dm show` has the last refusals of a program, also after its end; a refusal of a fault rule names the rule. Without
    VERBS_LOG_LEVEL nothing is on stderr."""
    program = [os.path.join(build, "tests", "client", "verbs_errno")]
    with Instance(build, "refusals_shown") as instance:
        printed = instance.run(program, env={"CK_FORK": "no"})
        if "is in use" in printed:
            raise Failure("a refusal was printed unasked:\n" + printed)
        shown = instance.show()["devices"][0]["refusals"]
        last = {(one["comm"], one["call"], one["error"]) for one in shown}
        if ("verbs_errno", "ibv_create_flow", "EINVAL") not in last:
            raise Failure(f"not shown: {shown}")
        if "recent calls that were refused" not in instance.command("show").stdout:
            raise Failure("the table has no refusals")
        instance.command("fault", "add", "verb", "name=ibv_alloc_pd", "errno=ENOMEM")
        instance.run(program, expect=None)
        shown = instance.show()["devices"][0]["refusals"]
        if not any(one["call"] == "ibv_alloc_pd" and one["reason"].startswith("fault rule 1 lets call 1 fail") for one in shown):
            raise Failure(f"no fault rule is named: {shown}")


def raw_privilege(build):
    """An instance may demand CAP_NET_RAW on its private wire. Nothing else of the device needs it."""
    echo = [os.path.join(build, "tests", "client", "raw_echo"), "7777", "0"]
    log = {"VERBS_LOG_LEVEL": "2"}
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("a program with the capability, and one without it, need root and setpriv")
    without = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", "--no-new-privs"]
    granted = as_nobody() + ["--inh-caps=+net_raw", "--ambient-caps=+net_raw"]
    for prefix, setting, may in (((), "on", True), (without, "on", False), (as_nobody(), "on", False),
                                 (granted, "on", True), (as_nobody(), "off", True)):
        with Instance(build, "raw_privilege", raw_privilege=setting, prefix=prefix) as instance:
            need_reachable(instance, build)
            program = instance.start(echo, env=log)
            if may:
                program.wait_for_line("ready")
            elif program.wait(60) == 0 or "need CAP_NET_RAW (--raw-privilege on)" not in program.text():
                raise Failure(f"{prefix} may send raw packets, or is not told why not: {program.text()}")
            if instance.show()["devices"][0]["raw_privilege"] != (setting == "on"):
                raise Failure("'rxe_dm show' does not tell of the setting")
            instance.pair(["ibv_rc_pingpong", "-c", "-g", "0"])


def foreign(build):
    """Another user forges what a peer could send: none of it arrives, and the device counts it."""
    if os.geteuid() != 0:
        raise Skip("playing another user needs root")
    with Instance(build, "foreign") as instance:
        instance.run([os.path.join(build, "tests", "client", "verbs_foreign")], timeout_s=120)
        dropped = instance.show()["devices"][0]["counters"]["foreign_drops"]
        if dropped < 8000:
            raise Failure(f"of at least 8000 forged packets {dropped} were counted")


def unsent(build):
    """Each packet that cannot be sent is counted once, also after the program has closed the device and opened it again."""
    with Instance(build, "unsent") as instance:
        printed = instance.run([os.path.join(build, "tests", "client", "verbs_unsent")])
        posted = int(re.search(r"unsent: (\d+)", printed)[1])
        counted = instance.show()["devices"][0]["counters"]["send_err"]
        if posted != counted:
            raise Failure(f"of {posted} packets that could not be sent {counted} were counted")


CASES = {name: functools.partial(verbs, name=name) for name in PROGRAMS}
CASES["verbs_foreign"] = foreign
CASES["verbs_unsent"] = unsent
CASES["verbs_raw_privilege"] = raw_privilege
CASES["verbs_refusals_shown"] = refusals_shown
CASES["verbs_rc_ipv6"] = functools.partial(verbs, name="verbs_rc", address="::1")
CASES["verbs_rc_no_trains"] = functools.partial(verbs, name="verbs_rc", trains="off")
CASES["verbs_cq_memory"] = functools.partial(verbs, name="verbs_cq", link="memory")
CASES["verbs_cancel_memory"] = functools.partial(verbs, name="verbs_cancel", link="memory")
CASES["verbs_raw_memory"] = functools.partial(verbs, name="verbs_raw", link="memory")
CASES["verbs_raw_faults_memory"] = functools.partial(verbs, name="verbs_raw_faults", link="memory")
CASES["verbs_umem"] = functools.partial(verbs, name="verbs_umem", mlx5="on")
CASES["verbs_features"] = functools.partial(verbs, name="verbs_features", mlx5="on")
CASES["verbs_cycles"] = functools.partial(verbs, name="verbs_cycles", mlx5="on")
CASES["verbs_umem_off"] = functools.partial(verbs, name="verbs_umem")
CASES["verbs_xrc_no_vm"] = functools.partial(verbs, name="verbs_xrc", no_vm="1")
CASES["verbs_odp_share_no_vm"] = functools.partial(verbs, name="verbs_odp_share", no_vm="1")
CASES["verbs_share_no_vm"] = functools.partial(verbs, name="verbs_share", no_vm="1")


# Of huge pages: an instance takes 2 where twice as many are free.
ENOUGH = 8


def pages_of(instance):
    return re.search(r"in use, (.*), .* locked", instance.command("show").stdout)[1]


def huge(build):
    """Device memory comes out of the pool of huge pages where as many stay free, or as it is asked for."""
    with huge_pages():
        if in_pool() == 0:
            raise Skip("no huge pages are reserved, and only root may do so")
        verbs(build, "verbs_dm", arena="4M")
        # Other tests take pages of the same pool: fewer can be free than it has.
        too_many = r"(?!hugetlb).*\(\d+ (of \d+ free huge pages are too many to take|huge pages are needed, \d+ are free)\)"
        for pages, size, expected in (("auto", "4M", r"hugetlb .* \(\d+ of \d+ free huge pages\)"),
                                      ("auto", f"{pool_kib()}K", too_many),
                                      ("huge", "4M", r"hugetlb .* \(huge pages requested\)"),
                                      ("small", "4M", r"(?!hugetlb).*\(small pages requested\)")):
            until(lambda: free() >= min(ENOUGH, in_pool()), "end of tests that have the huge pages", timeout_s=60)
            with Instance(build, "huge", arena=size, arena_pages=pages) as instance:
                instance.pair(["ibv_rc_pingpong", "-c", "-j", "-g", "0"])
                if not re.fullmatch(expected, pages_of(instance)):
                    raise Failure(f"{size} with --arena-pages {pages}: {pages_of(instance)}, expected {expected}")
        with Instance(build, "too_huge", arena=f"{pool_kib() + 4}K", arena_pages="huge") as instance:
            need_line(instance.command("start"), "does not fit", "--arena-pages huge", "nr_hugepages")


def word(build):
    """Adders on one device, and others who reach its memory from another."""
    with Instance(build, "word", arena="1M") as instance, Instance(build, "word_peer") as peer:
        print(instance.run([os.path.join(build, "tests", "client", "verbs_word")], timeout_s=120,
                           env={"RXE_TEST_PEER_INSTANCE": peer.env["RXE_DM_INSTANCE"],
                                "RXE_TEST_PEER_ADDRESS": peer.address}))


def killed(build):
    """Processes that share die at random points, 200 of them; then nothing is left of them, and the server is as before."""
    with Instance(build, "killed") as instance:
        # The first program: the server makes the tree of /sys for it, and keeps that open.
        instance.run(["true"])
        before = open_files(instance)
        print(instance.run([os.path.join(build, "tests", "client", "verbs_killed")], timeout_s=240))
        wait_clean(instance)
        shown = instance.show()
        device = shown["devices"][0]
        if leftovers(shown) or device["arena"]["used"] or device["slots_used"]:
            raise Failure(f"left behind: {shown}")
        # Processes that exited in order are in TIME_WAIT for a while, with sockets of the server's own. The server also has a
        # connection to each other instance of this user, and those of other tests come and go.
        until(lambda: open_files(instance) <= before, f"server with at most {before} descriptors, as before")


def open_files(instance):
    """The fewest over a while: the program that asked last may still be connected."""
    pid, counts = instance.server_pid(), []
    for _ in range(25):
        counts.append(len(os.listdir(f"/proc/{pid}/fd")))
        time.sleep(0.02)
    return min(counts)


def share_shy(build):
    """The owner cannot be traced; as root it could nevertheless, so as somebody else."""
    env = {"RXE_TEST_SHY": "1"}
    prefix = as_nobody() if os.geteuid() == 0 else ()
    with Instance(build, "share_shy", prefix=prefix) as instance:
        need_reachable(instance, build)
        instance.run([os.path.join(build, "tests", "client", "verbs_share")], timeout_s=240, env=env)


CASES["verbs_share_shy"] = share_shy
CASES["verbs_dm_huge_pages"] = huge
CASES["verbs_word"] = word
CASES["verbs_killed"] = killed
