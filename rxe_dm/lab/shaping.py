# SPDX-License-Identifier: MIT
"""Delay, loss, rate and queue of a link: netem(8) where the kernel has it; else tbf for the rate, and fault rules of the
device for delay and loss, which then apply to packets of RoCE only."""

from topology import Mistake

NO_NETEM = ("this kernel has no netem (module sch_netem): delay and loss are fault rules of the devices, and apply to packets "
            "of RoCE only")
MTU = 1514
TBF_DEFAULT_LIMIT = 1000  # packets, as netem's


def has_netem(call):
    """call(PROGRAM, ARGUMENT...) raises Mistake if the program fails."""
    try:
        call("ip", "link", "add", "name", "probe0", "type", "veth", "peer", "name", "probe1")
        try:
            call("tc", "qdisc", "add", "dev", "probe0", "root", "netem", "delay", "1ms")
        finally:
            call("ip", "link", "delete", "probe0")
    except Mistake:
        return False
    return True


def qdisc(link, device, netem):
    """Arguments of tc(8), a list for each call, for one end of a link: what leaves there."""
    add = ["qdisc", "add", "dev", device, "root"]
    if netem:
        words = ["netem"] + (["limit", str(link.limit)] if link.limit else [])
        words += ["delay", f"{round(link.delay_s * 1e6)}us"] if link.delay_s else []
        words += ["loss", f"{link.loss * 100:.6f}%"] if link.loss else []
        words += ["rate", f"{link.rate_bit}bit"] if link.rate_bit else []
        return [add + words] if len(words) > 1 else []
    if link.rate_bit:
        # tbf needs tokens for what one tick of a 250 Hz clock sends.
        burst = max(link.rate_bit // 8 // 250, 2 * MTU)
        limit = (link.limit or TBF_DEFAULT_LIMIT) * MTU
        return [add + ["tbf", "rate", f"{link.rate_bit}bit", "burst", str(burst), "limit", str(limit + burst)]]
    if link.limit:
        return [add + ["pfifo", "limit", str(link.limit)]]
    return []


def rules(topology, interface):
    """Fault rules for the device of a host's interface, in the order in which they are added: one packet, one rule. A
    switch carries out no rule, so that the host's device has both directions of such a link."""
    link = topology.links[interface.link]
    other = next(end for end in link.ends if end is not interface)
    direction = "any" if topology.nodes[other.node].kind == "bridge" else "out"
    found = []
    if link.loss:
        seed = interface.link * 2 + link.ends.index(interface) + 1
        found.append(f"drop dir={direction} probability={link.loss * 100:.4f}% seed={seed}")
    if link.delay_s:
        found.append(f"delay dir={direction} time={round(link.delay_s * 1e6)}us")
    return found
