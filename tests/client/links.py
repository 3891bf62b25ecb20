# SPDX-License-Identifier: MIT
"""RXE_TEST_LINK=memory runs the cases over the memory link. What a case needs that this link does not have."""

import fnmatch
import os

NOT_OVER_MEMORY = {
    "the link uses no UDP port": ["busy_port", "busy_everywhere", "lost_udp", "lost_firewall"],
    "the link needs no address of the host": ["bad_commands", "run_checks_settings"],
    "tcpdump sees no packet": ["tshark_*"],
    "the link reaches no other device": ["across_instances", "stopped_other_instance", "stopped_rping_other_instance", "stopped_lab_node*", "capture_two_devices", "verbs_word", "verbs_foreign"],
    "the link reaches no other network namespace": [
        "capture_veth", "veth_pingpong", "veth_loss_*", "veth_exactly_once", "rdmacm_fi_*", "cm_veth*", "rsocket_udpong_veth_*"],
    "the case is about another link": ["vethdev_*", "stopped_ethernet_link"],
    "rstream takes POLLHUP beside its last bytes for a failure, and this link is fast enough for both": ["rsocket_rstream_async"],
}


def why_not(case):
    """Why the case cannot run over the link that the environment names; None: it can."""
    if os.environ.get("RXE_TEST_LINK") != "memory":
        return None
    for reason, patterns in NOT_OVER_MEMORY.items():
        if any(fnmatch.fnmatch(case, pattern) for pattern in patterns):
            return f"over the memory link: {reason}"
    return None
