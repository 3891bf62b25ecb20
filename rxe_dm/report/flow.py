# SPDX-License-Identifier: MIT
"""The packets of a capture as arrows between programs: who sent each, when it arrived, whether it was lost or sent before.

A capture records a packet where it is sent; `rxe_dm capture --both` records it again where it arrives. Both records become one
arrow. A queue pair is (address, number); the owner of one is the program that its packets' comments name."""

import collections

import pcapng
import wire

LOST, RESENT, RNR, NAK, RULE, RESPONSE, UNSEEN, AGAIN, GOOD = (1 << bit for bit in range(9))
MULTICAST_QPN, GSI_QPN = 0xffffff, 1
NAKS = ("PSN sequence", "invalid request", "remote access", "remote operational", "invalid RD request")


class Arrow:
    """Times are in nanoseconds since 1970; arrived_ns: -1 where no record says. sender, receiver: indexes of columns;
    source, target: indexes of queue pairs, or -1. outstanding: request packets without an answer after this packet."""

    __slots__ = ("packet", "time_ns", "arrived_ns", "sender", "receiver", "source", "target", "opcode", "psn", "payload", "flags",
                 "note", "outstanding")

    def __init__(self, packet, source, target):
        self.packet, self.source, self.target = packet, source, target
        self.time_ns, self.arrived_ns = packet.time_ns, -1
        self.sender = self.receiver = -1
        self.opcode, self.psn = packet.transport[0], wire.psn(packet.transport)
        self.payload = wire.payload_len(packet.transport, packet.wire_bytes)
        self.flags = RESPONSE if wire.is_response(self.opcode) else 0
        self.note, self.outstanding = packet.note, 0
        self.mark(packet)
        kind = wire.syndrome(packet.transport)
        if kind is not None and kind >> 5 & 3 in (1, 3):
            self.flags |= RNR if kind >> 5 & 3 == 1 else NAK

    def mark(self, packet):
        """Adds what the comment of one of its records says."""
        self.flags |= (LOST if packet.lost else 0) | (RULE if packet.note else 0)
        self.note = self.note or packet.note


class QueuePair:
    """A queue pair, with what its packets add up to. sent_*: what left it; the NAKs are those that were sent to it."""

    def __init__(self, address, qpn):
        self.address, self.qpn = address, qpn
        self.type, self.column, self.peer = "", -1, -1
        self.packets = self.bytes = self.payload = self.resent = self.lost = self.rnr = self.nak = 0
        self.most_outstanding = 0


class Flow:
    """Arrows by time; columns: titles of programs and of addresses without a known program."""

    def __init__(self, packets):
        self.columns, self.column_of = [], {}
        self.qps, self.qp_of = [], {}
        self.owner, self.peer_of = {}, {}
        self.both = False
        self.learn(packets)
        self.arrows = self.draw(packets)
        Progress(self).run()
        self.add_up()

    def learn(self, packets):
        """Finds the owner and the peer of each queue pair."""
        for packet in packets:
            target = (packet.dst, wire.dest_qpn(packet.transport))
            if packet.program and not packet.sent:
                self.owner.setdefault(target, packet.program)
            if packet.sent and packet.qpn is not None:
                source = (packet.src, packet.qpn)
                self.owner.setdefault(source, packet.program)
                if target[1] != MULTICAST_QPN and wire.service(packet.transport[0]) != wire.UD:
                    self.peer_of[source] = target
                    self.peer_of.setdefault(target, source)
        sources = {packet.src for packet in packets if packet.sent}
        self.both = any(not packet.sent and packet.program and not packet.note and packet.src in sources for packet in packets)

    def column(self, key, title):
        if key not in self.column_of:
            self.column_of[key] = len(self.columns)
            self.columns.append(title)
        return self.column_of[key]

    def place(self, address, qpn, program):
        """The column of one end of a packet."""
        program = program or self.owner.get((address, qpn))
        if program:
            return self.column((address, program), f"{program[0]}[{program[1]}]")
        return self.column(address, pcapng.address_text(address))

    def qp(self, address, qpn, kind=""):
        """Index of a queue pair; -1: the packet does not name it."""
        if qpn is None or qpn == MULTICAST_QPN:
            return -1
        key = (address, qpn)
        if key not in self.qp_of:
            self.qp_of[key] = len(self.qps)
            self.qps.append(QueuePair(address, qpn))
        qp = self.qps[self.qp_of[key]]
        qp.type = qp.type or kind
        return self.qp_of[key]

    def arrow(self, packet):
        target = (packet.dst, wire.dest_qpn(packet.transport))
        service = wire.SERVICES.get(wire.service(packet.transport[0]), "")
        if packet.sent or not packet.program:
            source = (packet.src, packet.qpn)
        else:
            source = self.peer_of.get(target, (packet.src, None))
        ret = Arrow(packet, self.qp(*source, packet.qp_type or service), self.qp(*target, service))
        ret.sender = self.place(*source, packet.program if packet.sent else None)
        ret.receiver = self.place(*target, None if packet.sent else packet.program)
        if not packet.sent and packet.program:
            ret.arrived_ns = packet.time_ns
        return ret

    def draw(self, packets):
        """Joins the two records of a packet. An arrival without a record of its sending is an arrow of its own."""
        arrows, waiting, joined = [], collections.defaultdict(collections.deque), {}
        for packet in packets:
            key = (packet.src, packet.transport[0], bytes(packet.transport[5:12]))
            if packet.sent:
                arrows.append(self.arrow(packet))
                if not packet.lost:
                    waiting[key].append(arrows[-1])
            elif waiting[key]:
                found = waiting[key].popleft() if self.both else waiting[key].pop()
                found.arrived_ns = packet.time_ns
                found.mark(packet)
                joined[key] = found
            else:
                arrows.append(self.arrow(packet))
                if key in joined:
                    arrows[-1].flags |= AGAIN
        if self.both:
            self.mark_unseen(waiting)
        return arrows

    def mark_unseen(self, waiting):
        """The connection manager's queue pair 1 records what it sends only."""
        recorded = {end for end, owner in self.owner.items() if owner and end[1] != GSI_QPN}
        for arrows in waiting.values():
            for arrow in arrows:
                if (arrow.packet.dst, wire.dest_qpn(arrow.packet.transport)) in recorded:
                    arrow.flags |= UNSEEN

    def add_up(self):
        for (address, qpn), index in self.qp_of.items():
            qp, peer = self.qps[index], self.peer_of.get((address, qpn))
            qp.column = self.place(address, qpn, None)
            qp.peer = self.qp_of.get(peer, -1) if peer else -1
        for arrow in self.arrows:
            if arrow.source >= 0:
                self.add_sent(self.qps[arrow.source], arrow)
            if arrow.target >= 0:
                qp = self.qps[arrow.target]
                qp.rnr += arrow.flags & RNR != 0
                qp.nak += arrow.flags & NAK != 0
            asking = arrow.target if arrow.flags & RESPONSE else arrow.source
            if asking >= 0:
                self.qps[asking].most_outstanding = max(self.qps[asking].most_outstanding, arrow.outstanding)

    @staticmethod
    def add_sent(qp, arrow):
        if arrow.flags & AGAIN:
            return
        qp.packets += 1
        qp.bytes += arrow.packet.wire_bytes
        qp.payload += arrow.payload
        qp.resent += arrow.flags & RESENT != 0
        qp.lost += arrow.flags & LOST != 0


def distance(psn, other):
    """How far psn is after the other one, modulo 2^24: from -2^23 on."""
    return (psn - other + 0x800000 & 0xffffff) - 0x800000


class Progress:
    """What each requester has sent and what is answered, packet by packet. GOOD: the first packet of its PSN that was not lost; so the
    payload of a message counts once, whatever was sent again."""

    def __init__(self, flow):
        self.flow = flow
        self.newest, self.answered, self.sent, self.responses = {}, {}, set(), set()

    def run(self):
        arrived = set()
        for arrow in self.flow.arrows:
            place = (arrow.target, arrow.psn, arrow.flags & RESPONSE)
            reliable = wire.is_reliable(arrow.opcode)
            if not arrow.flags & (LOST | UNSEEN | AGAIN) and not (reliable and place in arrived):
                arrow.flags |= GOOD
                arrived.add(place)
            if not reliable:
                continue
            if arrow.flags & RESPONSE:
                self.response(arrow)
            elif arrow.source >= 0:
                self.request(arrow)

    def request(self, arrow):
        qp = arrow.source
        newest = self.newest.get(qp)
        if newest is None:
            self.answered[qp] = arrow.psn - 1 & 0xffffff
        if newest is None or distance(arrow.psn, newest) > 0:
            self.newest[qp] = arrow.psn
        # A packet that a rule drops is recorded before the earlier packets of its train, so a PSN may be new and not the newest. A READ
        # that is sent again may begin at any PSN of its responses.
        if (qp, arrow.psn) in self.sent or (qp, arrow.psn) in self.responses:
            arrow.flags |= RESENT
        self.sent.add((qp, arrow.psn))
        arrow.outstanding = max(0, distance(self.newest[qp], self.answered[qp]))

    def response(self, arrow):
        """A READ takes a PSN for each response, so responses also move the newest PSN. A NAK answers what is before its PSN."""
        qp = arrow.target
        if qp not in self.newest:
            return
        if distance(arrow.psn, self.newest[qp]) > 0:
            self.newest[qp] = arrow.psn
        upto = arrow.psn - 1 & 0xffffff if arrow.flags & (NAK | RNR) else arrow.psn
        if distance(upto, self.answered[qp]) > 0 and not arrow.flags & LOST:
            self.answered[qp] = upto
        arrow.outstanding = max(0, distance(self.newest[qp], self.answered[qp]))
        if wire.operation(arrow.opcode) != wire.ACKNOWLEDGE:
            if (qp, arrow.psn) in self.responses:
                arrow.flags |= RESENT
            self.responses.add((qp, arrow.psn))
