/* SPDX-License-Identifier: MIT */
/* The oracle's checks of packets, of the bytes that they store, and of the counters. */
#include "emu/rc/nak.h"
#include "net/wire/opcode.h"
#include "tests/sim/oracle.h"

/* A response acknowledges its own PSN and all before it, a NAK all before its own. */
static uint32_t acknowledged_psn(const struct wire_packet *packet)
{
	bool is_ack = (packet->shape & (SHAPE_READ | SHAPE_ATOMIC)) ||
		      rc_syndrome_class(packet->aeth.syndrome) == RC_AETH_ACK;

	return is_ack ? packet->bth.psn : psn_add(packet->bth.psn, PSN_MASK);
}

static void note_response_sent(struct party *party, const struct wire_packet *packet)
{
	uint32_t acked = acknowledged_psn(packet);

	uint32_t i;

	if (psn_diff(acked, party->peer->ack_sent_psn) > 0)
		party->peer->ack_sent_psn = acked;
	for (i = 0; (packet->shape & SHAPE_READ) && i < party->peer->num_ops; i++)
		party->peer->ops[i].answer_sent |= party->peer->ops[i].psn_last == acked;
}

static void saw_packet(void *context, struct node *node, struct end *from,
		       const struct wire_packet *packet)
{
	struct oracle *o = context;

	if (!from) {
		oracle_time_wait_answered(o, node, packet);
		return;
	}
	if ((packet->shape & SHAPE_AETH) && rc_syndrome_class(packet->aeth.syndrome) == RC_AETH_RNR)
		o->seen[from->node->index].rnr_naks_sent++;
	if (packet->shape & SHAPE_AETH)
		note_response_sent(oracle_party_of(o, from), packet);
	switch (from->seen_state) {
	case RXE_QPS_RTR:
	case RXE_QPS_RTS:
	case RXE_QPS_SQD: return;
	case RXE_QPS_RESET:
	case RXE_QPS_INIT:
	case RXE_QPS_SQE:
	case RXE_QPS_ERR:
		oracle_fail(o, "%c: %s %u left in a state that does not talk", from->letter,
			    trace_op(packet), packet->bth.psn);
	}
}

/* A response acknowledges all before it; the response to a request that needs its own also that
 * request. */
static void note_answer(struct party *party, const struct wire_packet *packet)
{
	uint32_t psn = packet->bth.psn, i;
	bool own = packet->shape & (SHAPE_READ | SHAPE_ATOMIC);
	uint32_t acked = acknowledged_psn(packet);

	if (psn_diff(psn, party->next_psn) >= 0)
		return;
	if (psn_diff(acked, party->acked_psn) > 0)
		party->acked_psn = acked;
	for (i = party->done; own && i < party->num_ops; i++)
		party->ops[i].answered |= party->ops[i].psn_last == psn;
}

static bool requests(const struct end *end)
{
	return end->qp.type == RXE_QPT_RC || end->qp.type == RXE_QPT_XRC_SEND;
}

static bool responds(const struct end *end)
{
	return end->qp.type == RXE_QPT_RC || end->qp.type == RXE_QPT_XRC_RECV;
}

static void saw_arriving(void *context, struct node *node, struct end *to, uint32_t len,
			 const struct wire_packet *packet)
{
	struct oracle *o = context;
	struct sightings *seen = &o->seen[node->index];

	seen->rcvd_pkts++;
	seen->rcvd_bytes += len;
	seen->corrupt += !packet;
	seen->before = node->counters;
	seen->rq_psn = to ? to->qp.attr.rq_psn : 0;
	if (!to && packet)
		oracle_time_wait_arrives(o, node, packet);
	if (to && packet && requests(to) && !(packet->shape & SHAPE_REQUEST))
		note_answer(oracle_party_of(o, to), packet);
}

/* Bounds of the growth of a counter by one packet. */
static void check_grew(const struct oracle *o, const struct node *node, const char *name,
		       uint64_t before, uint64_t after, bool may)
{
	if (after - before > (may ? 1 : 0))
		oracle_fail(o, "node %u: counter %s says %llu after %llu, which this packet is not",
			    node->index, name, (unsigned long long)after,
			    (unsigned long long)before);
}

static bool is_nak(const struct wire_packet *packet, uint8_t class)
{
	return packet && (packet->shape & SHAPE_ACK) && !(packet->shape & SHAPE_ATOMIC) &&
	       (uint8_t)rc_syndrome_class(packet->aeth.syndrome) == class;
}

static void check_counters(const struct oracle *o, const struct node *node, const struct end *to,
			   const struct wire_packet *packet, int32_t ahead)
{
	const struct rxe_counters *before = &o->seen[node->index].before;
	const struct rxe_counters *after = &node->counters;
	const bool is_request = packet && (packet->shape & SHAPE_REQUEST) && to && responds(to);
	const bool may_be_again = packet && !to; /* see oracle_time_wait_arrived() */

#define GREW(name, may) check_grew(o, node, #name, before->name, after->name, may)
	GREW(rcvd_pkts, true);
	GREW(rcvd_bad_icrc, !packet);
	GREW(rcvd_malformed, !packet);
	GREW(duplicate_request, is_request ? ahead < 0 : may_be_again);
	GREW(out_of_seq_request, is_request && ahead > 0);
	GREW(send_rnr_err, is_request && ahead == 0);
	GREW(rcvd_rnr_err, is_nak(packet, RC_AETH_RNR));
	GREW(rcvd_seq_err, is_nak(packet, RC_AETH_NAK));
	GREW(retry_rnr_exceeded_err, is_nak(packet, RC_AETH_RNR));
	GREW(retry_exceeded_err, packet && !is_request);
	GREW(completer_retry_err, packet && !is_request);
	/* A request that was held also defers its ACK. */
	if (!is_request || ahead != 0)
		GREW(ack_deferred, false);
	GREW(rcvd_no_qp, packet && !to);
	GREW(rcvd_dropped, packet && to);
	GREW(rcvd_bad_key, packet && to);
	GREW(send_err, false);
#undef GREW
	if (after->sent_pkts != before->sent_pkts)
		oracle_fail(o, "node %u: it sent while it received", node->index);
}

/* PSNs that a request takes. */
static uint32_t takes(const struct end *to, const struct wire_packet *packet)
{
	bool reads = (packet->shape & SHAPE_READ) && (packet->shape & SHAPE_REQUEST);

	return reads && packet->reth.len > 0 ? (packet->reth.len - 1) / to->qp.attr.path_mtu + 1
					     : 1;
}

/* Whether a request with this PSN has arrived early, and moves the expected PSN to at most
 * until. */
static bool follows_early(const struct party *party, uint32_t *psn, uint32_t until)
{
	uint32_t n = party->num_early < ORACLE_EARLY ? party->num_early : ORACLE_EARLY, i;

	for (i = 0; i < n; i++) {
		if (party->early[i].psn == *psn &&
		    psn_diff(until, psn_add(*psn, party->early[i].takes)) >= 0) {
			*psn = psn_add(*psn, party->early[i].takes);
			return true;
		}
	}
	return false;
}

/* A request in order advances the expected PSN by its packets, and then requests that arrived early
 * do, where the engine holds them; nothing else does. */
static void check_expected(struct oracle *o, const struct end *to, const struct wire_packet *packet,
			   uint32_t was, int32_t ahead)
{
	struct party *party = oracle_party_of(o, to);
	const uint32_t now = to->qp.attr.rq_psn;
	uint32_t psn;

	/* In RESET, nothing is expected and nothing taken. */
	if (to->qp.attr.path_mtu == 0)
		return;
	psn = psn_add(was, takes(to, packet));
	if (ahead > 0) {
		uint32_t i = party->num_early++ % ORACLE_EARLY;

		party->early[i].psn = packet->bth.psn;
		party->early[i].takes = takes(to, packet);
	}
	if (now == was)
		return;
	while (to->node->engine.cfg.held && ahead == 0 && psn != now &&
	       follows_early(party, &psn, now))
		;
	if (ahead != 0 || psn != now)
		oracle_fail(o, "%c: %s %u moved the expected PSN from %u to %u", to->letter,
			    trace_op(packet), packet->bth.psn, was, to->qp.attr.rq_psn);
}

static void saw_arrived(void *context, struct node *node, struct end *to, uint32_t len,
			const struct wire_packet *packet)
{
	struct oracle *o = context;
	const struct sightings *seen = &o->seen[node->index];
	bool is_rc = to && packet && responds(to);
	bool is_request = is_rc && (packet->shape & SHAPE_REQUEST);
	int32_t ahead = is_rc ? psn_diff(packet->bth.psn, seen->rq_psn) : 0;

	(void)len;
	check_counters(o, node, to, packet, ahead);
	if (!to && packet)
		oracle_time_wait_arrived(o, node, packet);
	if (is_request)
		check_expected(o, to, packet, seen->rq_psn, ahead);
}

static bool lies_in(uint32_t at, uint32_t len, uint32_t area, uint32_t area_len)
{
	return at >= area && len <= area_len && at - area <= area_len - len;
}

static bool is_granted(const struct party *party, uint32_t at, uint32_t len)
{
	uint32_t slot;

	/* An ATOMIC WRITE is stored whole. */
	if (lies_in(at, len, AREA_WORDS, ORACLE_WORDS * 8))
		return len == 8 && at % 8 == 0;
	if (lies_in(at, len, AREA_TARGET, AREA_TARGET_LEN))
		return oracle_mw_is_open(party) ||
		       (oracle_is_target(party) &&
			rxe_mr_find(party->end->node->mrs, party->keys[1].target));
	if (at >= AREA_READS) {
		slot = (at - AREA_READS) / ORACLE_SLOT_BYTES;
		return slot < ORACLE_SLOTS && party->slot_taken[slot] &&
		       lies_in(at, len, AREA_READS + slot * ORACLE_SLOT_BYTES, ORACLE_SLOT_BYTES);
	}
	if (at < AREA_RECVS)
		return false;
	slot = (at - AREA_RECVS) / ORACLE_SLOT_BYTES;
	return slot < ORACLE_SLOTS && party->recv_taken[slot] &&
	       lies_in(at, len, AREA_RECVS + slot * ORACLE_SLOT_BYTES, ORACLE_SLOT_BYTES);
}

static void saw_write(void *context, struct node *node, uint32_t at, uint32_t len)
{
	const struct oracle *o = context;
	uint32_t i;

	for (i = 0; i < o->num_parties; i++) {
		const struct party *party = &o->party[i];

		/* A destroyed QP grants nothing; but its receives may belong to others of a shared
		 * queue. */
		if (party->has_left && at >= party->base && at - party->base < AREA_RECVS &&
		    party->end->node == node)
			break;
		if (party->end->node == node && at >= party->base &&
		    at - party->base < AREA_BYTES && is_granted(party, at - party->base, len))
			return;
	}
	oracle_fail(o, "node %u: %u bytes were stored at 0x%x, where nothing was granted",
		    node->index, len, at);
}

static void check_node(const struct oracle *o, const struct node *node)
{
	const struct sightings *seen = &o->seen[node->index];
	const struct rxe_counters *counters = &node->counters;
	const struct {
		const char *name;
		uint64_t counted, seen;
	} exact[] = {
		{ "sent_pkts", counters->sent_pkts, node->sent },
		{ "sent_bytes", counters->sent_bytes, node->sent_bytes },
		{ "rcvd_pkts", counters->rcvd_pkts, seen->rcvd_pkts },
		{ "rcvd_bytes", counters->rcvd_bytes, seen->rcvd_bytes },
		{ "rcvd_bad_icrc and rcvd_malformed",
		  counters->rcvd_bad_icrc + counters->rcvd_malformed, seen->corrupt },
	};
	size_t i;

	for (i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
		if (exact[i].counted != exact[i].seen)
			oracle_fail(o, "node %u: counter %s says %llu, the link %llu", node->index,
				    exact[i].name, (unsigned long long)exact[i].counted,
				    (unsigned long long)exact[i].seen);
	}
	/* A pending RNR NAK may be withdrawn when the receive is posted first; none leaves
	 * uncounted. */
	if (counters->send_rnr_err < seen->rnr_naks_sent || counters->rdma_recvs < seen->recvs)
		oracle_fail(
			o, "node %u: counters say %llu RNR NAKs, %llu receives; seen %llu, %llu",
			node->index, (unsigned long long)counters->send_rnr_err,
			(unsigned long long)counters->rdma_recvs,
			(unsigned long long)seen->rnr_naks_sent, (unsigned long long)seen->recvs);
}

static bool is_recorded(const struct end *end, uint32_t psn)
{
	const struct rxe_time_wait *delayed = end->node->time_wait->delayed;
	uint32_t i;

	for (i = 0; i < RXE_MAX_DELAYED_ACKS; i++) {
		if (delayed[i].qpn == end->qp.qpn && psn_diff(delayed[i].psn, psn) > 0)
			return true;
	}
	return false;
}

/* The program may be killed now: an ACK of each message that has completed was sent, or is
 * recorded. It may still wait after a response to a READ, which the program cannot give any more
 * either. */
static void check_acknowledged(const struct oracle *o, const struct party *party)
{
	const struct end *to = party->peer->end;
	const struct rc_reply *reply = &to->qp.rc.reply;

	if (!oracle_is_reliable(party) || party->is_forged || !oracle_is_receiving(&to->qp))
		return;
	if (psn_diff(party->received_psn, party->ack_sent_psn) > 0 && reply->head == reply->tail &&
	    !is_recorded(to, party->received_psn))
		oracle_fail(o, "%c: the ACK of PSN %u was neither sent nor recorded", to->letter,
			    party->received_psn);
}

static void saw_step(void *context)
{
	const struct oracle *o = context;
	uint32_t i;

	oracle_check_state(o);
	oracle_time_wait_check(o);
	for (i = 0; i < o->num_parties; i++)
		check_acknowledged(o, &o->party[i]);
	for (i = 0; i < o->w->num_nodes; i++)
		check_node(o, o->w->node[i]);
}

void oracle_watch_node(struct oracle *o, struct node *node)
{
	node->wrote = saw_write;
	node->wrote_context = o;
}

void oracle_watch_packets(struct oracle *o)
{
	o->w->watch.packet = saw_packet;
	o->w->watch.arrives = saw_arriving;
	o->w->watch.arrived = saw_arrived;
	o->w->watch.step = saw_step;
}
