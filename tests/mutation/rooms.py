# SPDX-License-Identifier: MIT
"""The rooms that tests/mutation/mutants knows: the folders that it changes, and the tests that must notice, by the names that
meson has for them. A test that reaches no mutant of a room does not run for that room."""

import re
from collections import namedtuple

Room = namedtuple("Room", "folders tests goal")

SIM = r"sim|exhaustive|tag_exhaustive|sim_raw|sim_tag"
CM = r"cm_state|cm_listen|cm_messages|cm_memory|cm_connect|cm_disconnect|cm_refuse|cm_sidr|cm_golden|sim_cm|cm_exhaustive"
ID = r"cma_id(_.*)?"
TRACE = "trace:.*"

ROOMS = {
    "emu": Room(["emu"], rf"emu_.*|raw_.*|rc_hold|rc_loss|rc_retry|{TRACE}|{SIM}", 95),
    "net/wire": Room(["net/wire"], rf"wire.*|emu_uc|emu_ud|malformed|golden.*|cma_id|{CM}", 95),
    "net/link": Room(["net/link"], r"udp_.*|memory_.*|capture.*|verbs_capture|descriptor|frame|fault_.*|neighbor|veth_split|veth_net|client:verbs_rc|client:verbs_faults", 85),
    "lib/progress": Room(["lib/progress"], r"arrivals|remote(_ask)?|verbs_memory|credits|persist|faults|schedule.*|processors|starvation|udp_veth|"
                         r"progress(_start)?|stopped_(peer|elsewhere)|verbs_capture|client:worst_reposted|"
                         r"client:verbs_(rc|errors|events|srq|share|share_no_vm|flush|odp|odp_share|threads|regions|mw|xrc|xrc_no_vm|delayed_ack)|"
                         r"client:verbs_(raw|raw_faults|cq|dm|faults|counters|wr|umem|fork|ud|tag|closefrom|bad)|client:memory_(verbs_rc|faults)|"
                         r"client:capture_(connection|raw|killed)|client:cause_(receive|nak)|client:fault_(timed|time_wait)|client:vethdev_raw", 85),
    "rxe_dm/cm": Room(["rxe_dm/cm"], CM, 95),
    "rxe_dm/cma": Room(["rxe_dm/cma"], rf"{ID}|server_cm|client:rdmacm_(connect|events|bad|sync)", 85),
    "lib/rdmacm": Room(["lib/rdmacm"], r"rdmacm_channel|rsocket_message|client:rdmacm_(connect|events|bad|sync|limits|newer|queues)|"
                       r"client:rsocket_(stream|datagram|epoll|iomap|transfer|hostile|life|refused|preload(_fork)?|rcopy|udpong_echo)|client:rsocket_r(io)?stream_verify|"
                       r"client:rsocket_rstream_(async|refused)|client:rdmacm_(mckey|udaddy|rdma_xserver_xrc|ucmatose_migrate|rdma_core)|"
                       r"client:cm_(refused_here|server_stopped|device_events)|client:rdmacm_server_killed", 85),
    "rxe_dm/server": Room(["rxe_dm/server"], r"server_.*|client:verbs_(regions|share|xrc|dm|mw|flow|control|umem|dm_huge_pages)|"
                          r"client:rdmacm_(connect|events|ucmatose_migrate)|client:cm_(device_events|show|rules|killed)|client:show(_features)?|"
                          r"client:view_(tools|paths|counters|state|life|host_devices|squatted)|client:profile_(rxe|own_file|errors)|client:low_memlock|"
                          r"client:capture_(connection|limits|killed|two_devices)|client:fault_(docs_port_down|docs_verbs|timed|shown|command|relative_file)|"
                          r"client:(busy_port|busy_everywhere|squatted_(lock|name)|few_descriptors(_for_a_server)?|bad_settings|two_(devices|instances))|"
                          r"client:vethdev_(gateway|refused|carrier|neighbors)|client:(stopped_(device_server|connections)|no_random_numbers|memory_verbs_rc)", 85),
}

# Long runs, made short: arguments by name. None: the test takes too long to run for each mutant.
SHORT = {"sim": ["--count", "1000"], "sim_raw": ["--count", "300"], "sim_tag": ["--count", "300"], "sim_cm": ["--count", "100"],
         "processors": ["--count", "10"], "exhaustive": None, "tag_exhaustive": None, "starvation": None}

# One case (libcheck's word) of each of these tests runs. The others wait.
CASES = {"server_life": "life"}


def is_test_of(room, suite, name):
    wanted = ROOMS[room].tests
    named = f"client:{name}" if suite == "client" else name
    return bool(re.fullmatch(wanted, named) or re.fullmatch(wanted, f"{suite}:{name}")) and SHORT.get(name, []) is not None


def matches_folder(room, path):
    return path.endswith(".c") and any(path.startswith(folder + "/") for folder in ROOMS[room].folders) and "rsocket_preload" not in path
