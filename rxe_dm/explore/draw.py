# SPDX-License-Identifier: MIT
"""Draws worlds from a seed. Each group holds what the one before it holds.

legal: what every correct program survives: the unkind device, and packets that are late by less than a millisecond.
lossy: what a program survives that uses RC with retries: packets lost, doubled, out of order or damaged, RNR NAKs, few enough for
   7 retries.
faulty: what a program survives that handles errors: completions in error, verbs that fail, a port that is down for a moment,
   connections that are refused.
killing: what a program survives whose peers may die: one of its processes is killed."""

import random

import world

GROUPS = ("legal", "lossy", "faulty", "killing")
REQUESTS = ("SEND_*", "WRITE_*", "READ_REQUEST", "FETCH_ADD", "CMP_SWAP")
ANSWERS = ("ACKNOWLEDGE", "READ_RESP_*", "ATOMIC_ACK")
STATUSES = ("IBV_WC_RETRY_EXC_ERR", "IBV_WC_RNR_RETRY_EXC_ERR", "IBV_WC_REM_ACCESS_ERR", "IBV_WC_LOC_PROT_ERR")
VERBS = (("ibv_reg_mr", "ENOMEM"), ("ibv_create_qp", "ENOMEM"), ("ibv_create_cq", "ENOMEM"), ("ibv_alloc_pd", "ENOMEM"),
         ("ibv_post_send", "ENOMEM"), ("ibv_post_recv", "ENOMEM"), ("ibv_modify_qp", "EINVAL"), ("rdma_connect", "ECONNABORTED"),
         ("rdma_resolve_addr", "ENODEV"))
# No chain of rules may use up the retries of a queue pair: 7, for each request.
MOST_LOSSES = 3


def small(rng):
    """1 to 64, small ones more often."""
    return int(2 ** rng.uniform(0, 6.05))


def span(rng):
    first, more = small(rng), rng.choice((0, 0, 0, 1, 2))
    return f"{first}..{first + more}" if more else str(first)


class Drawer:
    """opcodes: names of those that a plain run has sent, to aim at; None: not known."""

    def __init__(self, seed, group, opcodes=None):
        self.seed, self.group = seed, group
        self.requests = self.known(REQUESTS, opcodes)
        self.answers = self.known(ANSWERS, opcodes)

    @staticmethod
    def known(patterns, opcodes):
        if opcodes is None:
            return patterns
        found = tuple(pattern for pattern in patterns if any(pattern.rstrip("*") in name for name in opcodes))
        return found or patterns

    def world(self, number):
        """The same number gives the same world. Even ones have one thing, odd ones several."""
        rng = random.Random(f"{self.seed}/{self.group}/{number}")
        level = GROUPS.index(self.group)
        makers = [self.unkind, self.late]
        makers += [self.lost, self.lost, self.doubled, self.reordered, self.damaged, self.not_ready] if level > 0 else []
        makers += [self.completion, self.completion, self.verb, self.port, self.refused] if level > 1 else []
        makers += [self.killed] * 4 if level > 2 else []
        items = []
        for _ in range(1 if number % 2 == 0 else rng.randint(2, 4)):
            items += [item for item in rng.choice(makers)(rng) if item not in items]
        return world.World(limited(items), rng.randint(1, 9999))

    def packets(self, rng):
        """Selectors: an opcode, often of one queue pair only. A count is of each queue pair, so that rules without one strike all alike."""
        queue_pair = f" qp=#{rng.randint(0, 3)}" if rng.random() < 0.6 else ""
        return f"opcode={rng.choice(self.requests + self.answers)}{queue_pair}"

    @staticmethod
    def unkind(rng):
        switches = world.SWITCHES if rng.random() < 0.5 else rng.sample(world.SWITCHES, rng.randint(1, 3))
        return [f"switch {switch}" for switch in switches]

    def late(self, rng):
        return [f"fault delay {self.packets(rng)} nth={span(rng)} time={rng.choice((100, 300, 900))}us"]

    def lost(self, rng):
        return [f"fault drop {self.packets(rng)} attempt=0 dir=out nth={span(rng)}"]

    def doubled(self, rng):
        return [f"fault duplicate {self.packets(rng)} nth={span(rng)}"]

    def reordered(self, rng):
        return [f"fault reorder {self.packets(rng)} nth={span(rng)} behind={rng.randint(1, 3)}"]

    def damaged(self, rng):
        return [f"fault corrupt {self.packets(rng)} attempt=0 dir=out part={rng.choice(('payload', 'header', 'icrc'))} "
                f"nth={small(rng)}"]

    def not_ready(self, rng):
        choice = [pattern for pattern in self.requests if pattern == "SEND_*"] or ["SEND_*"]
        return [f"fault rnr_nak dir=in opcode={choice[0]} nth={span(rng)} timer={rng.choice((1, 8, 14))}"]

    @staticmethod
    def completion(rng):
        return [f"fault completion status={rng.choice(STATUSES)} side={rng.choice(('send', 'recv', 'any'))} nth={small(rng)}"]

    @staticmethod
    def verb(rng):
        name, errno = rng.choice(VERBS)
        return [f"fault verb name={name} errno={errno} nth={small(rng)}"]

    @staticmethod
    def port(rng):
        return [f"fault port_down after={rng.choice((50, 200, 500))}ms time={rng.choice((1, 20, 100))}ms"]

    @staticmethod
    def refused(rng):
        return [f"fault cm_reject reason=28 nth={rng.randint(1, 3)}"]

    @staticmethod
    def killed(rng):
        return [f"kill {rng.randint(1, 2)} after={rng.choice((0, 50, 200, 1000))}ms"]


def limited(items):
    """Without the losses that are too many."""
    losses, kept = 0, []
    for item in items:
        if item.startswith(("fault drop", "fault corrupt", "fault rnr_nak")):
            losses += 1
            if losses > MOST_LOSSES:
                continue
        kept.append(item)
    return kept
