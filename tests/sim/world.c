/* SPDX-License-Identifier: MIT */
/* The simulation loop: arrivals, timers, packets out, completions. */
#include "tests/sim/world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/icrc.h"
#include "net/wire/opcode.h"

#define FOREVER_NS (1000ull * 1000 * 1000 * 3600)

void world_init(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->next_letter = 'a';
	w->mem_len = NODE_MEM_BYTES;
	link_init(&w->link, seed);
}

void world_fini(struct world *w)
{
	while (w->num_nodes > 0)
		node_free(w->node[--w->num_nodes]);
	link_fini(&w->link);
	trace_fini(&w->trace);
}

struct node *world_add_node(struct world *w)
{
	assert(w->num_nodes < WORLD_MAX_NODES);
	w->node[w->num_nodes] = node_new(w->num_nodes, w->mem_len);
	return w->node[w->num_nodes++];
}

struct node_qp_opts world_opts(void)
{
	return (struct node_qp_opts){
		.type = RXE_QPT_RC,
		.mtu = 1024,
		.psn = 100,
		.timeout = 6, /* 262 us */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.rnr_timer = 1, /* 10 us */
		.rd_atomic = 4,
		.rights = RXE_REMOTE_WRITE | RXE_REMOTE_READ | RXE_REMOTE_ATOMIC |
			  RXE_FLUSH_GLOBAL | RXE_FLUSH_PERSISTENT,
		.depth = 128,
	};
}

void world_pair(struct world *w, struct node *x, struct node *y, const struct node_qp_opts *opts,
		struct end **ret_x, struct end **ret_y)
{
	struct node_qp_opts other = *opts;

	other.psn = 500;
	if (opts->type == RXE_QPT_XRC_SEND)
		other.type = RXE_QPT_XRC_RECV;
	*ret_x = node_add_qp(x, w->next_letter++, opts);
	*ret_y = node_add_qp(y, w->next_letter++, &other);
	node_connect(*ret_x, *ret_y, opts, other.psn);
	node_connect(*ret_y, *ret_x, &other, opts->psn);
}

static uint32_t key_or(uint32_t key, uint32_t otherwise)
{
	if (key == UINT32_MAX)
		return 0;
	return key ? key : otherwise;
}

/* XRC is addressed by SRQ, UD by queue pair. */
static uint32_t remote_number(const struct end *peer)
{
	return peer->qp.type == RXE_QPT_XRC_RECV ? peer->node->srq.srqn : peer->qp.qpn;
}

enum post_result world_post(struct world *w, struct end *end, struct post post)
{
	struct node *node = end->node;
	uint32_t pieces = post.pieces ? post.pieces : 1;
	struct rxe_sge sge[8];
	const struct rxe_av av = { .dgid = end->peer->node->engine.cfg.gids[0], .hop_limit = 64 };
	struct rxe_send_wr wr = {
		.wr_id = ++end->next_send_id,
		.opcode = post.op,
		.flags = post.flags | (post.quiet ? 0u : (uint32_t)RXE_SEND_SIGNALED),
		.imm_or_rkey = post.imm,
		.bind = post.bind,
		.remote_addr = post.has_va ? post.va : end->peer->node->base + post.to,
		.rkey = key_or(post.rkey, end->peer->node->key),
		.compare_add = post.compare_add,
		.swap = post.swap,
		.feth = post.feth,
		.flush_len = post.flush_len,
		.av = &av,
		.remote_qpn = post.srqn ? post.srqn : remote_number(end->peer),
		.remote_qkey = NODE_QKEY,
		.num_sge = pieces,
		.sges = sge,
	};
	uint32_t i, at = 0;

	for (i = 0; i < pieces; i++) {
		uint32_t len = i + 1 < pieces ? post.len / pieces : post.len - at;

		sge[i] = (struct rxe_sge){ .addr = node->base + post.from + at,
					   .length = len,
					   .lkey = key_or(post.lkey, node->key) };
		if (post.flags & RXE_SEND_INLINE)
			sge[i].addr = (uintptr_t)(node->mem + post.from + at);
		at += len;
	}
	return rxe_post_send(&node->engine, &end->qp, &wr, w->now_ns);
}

enum post_result world_recv_as(struct world *w, struct end *end, uint64_t wr_id, uint32_t to,
			       uint32_t len, uint32_t lkey)
{
	const struct rxe_sge sge = { .addr = end->node->base + to, .length = len, .lkey = lkey };
	const struct rxe_recv_wr wr = { .wr_id = wr_id, .num_sge = 1, .sges = &sge };

	if (end->qp.srq)
		return rxe_post_srq_recv(&end->node->engine, end->qp.srq, &wr);
	return rxe_post_recv(&end->node->engine, &end->qp, &wr, w->now_ns);
}

enum post_result world_recv_key(struct world *w, struct end *end, uint32_t to, uint32_t len,
				uint32_t lkey)
{
	return world_recv_as(w, end, ++end->next_recv_id, to, len, lkey);
}

enum post_result world_recv(struct world *w, struct end *end, uint32_t to, uint32_t len)
{
	return world_recv_key(w, end, to, len, end->node->key);
}

enum post_result world_srq_recv(struct world *w, struct node *node, uint64_t wr_id, uint32_t to,
				uint32_t len)
{
	const struct rxe_sge sge = { .addr = node->base + to, .length = len, .lkey = node->key };
	const struct rxe_recv_wr wr = { .wr_id = wr_id, .num_sge = 1, .sges = &sge };

	(void)w;
	return rxe_post_srq_recv(&node->engine, &node->srq, &wr);
}

/* Reads the completions that were visible up to there. */
static void poll_cq(struct world *w, struct node *node, struct rxe_cq *cq, uint32_t visible)
{
	struct rxe_cqe cqe;

	while ((int32_t)(visible - atomic_load(&cq->head)) > 0 && rxe_cq_poll(cq, &cqe, 1)) {
		struct end *end = node_end(node, cqe.qpn);

		assert(end || cqe.qpn == 0);
		trace_completion(&w->trace, w->now_ns, end ? end->letter : '*', &cqe);
		if (end && w->watch.completion)
			w->watch.completion(w->watch.context, end, cq, &cqe);
	}
}

/* A program that gets an event polls completions first. */
static void note_events(struct world *w, struct node *node)
{
	uint32_t i;

	for (i = 0; i < node->num_events; i++) {
		const struct rxe_event *event = &node->events[i].what;
		const struct end *end = event->qp ? event->qp->owner : NULL;

		poll_cq(w, node, &node->cq, node->events[i].visible);
		poll_cq(w, node, &node->xcq, node->events[i].xvisible);
		trace_line(&w->trace, w->now_ns, end ? end->letter : '*', "  event %s",
			   trace_event_str(event->type));
		if (w->watch.event)
			w->watch.event(w->watch.context, node, event);
	}
	node->num_events = 0;
}

static void note_rewind(struct world *w, struct end *end, bool by_timer)
{
	const struct rc_requester *req = &end->qp.rc.req;
	const struct rc_retry *retry = &end->qp.rc.retry;
	uint32_t left = end->qp.attr.retry_cnt - retry->retries;

	if (req->probe == RC_PROBE_DUE)
		trace_line(&w->trace, w->now_ns, end->letter, "  probe of psn %u", req->una_psn);
	if (psn_diff(req->cur_psn, end->seen_cur) >= 0 || end->qp.state == RXE_QPS_ERR ||
	    end->qp.state == RXE_QPS_RESET)
		return;
	if (by_timer)
		trace_line(&w->trace, w->now_ns, end->letter, "  timeout, %u left, rewind to %u",
			   left, req->cur_psn);
	else if (retry->rnr_until_ns != RXE_NEVER)
		trace_line(&w->trace, w->now_ns, end->letter, "  wait until %.1f, rewind to %u",
			   (double)retry->rnr_until_ns / 1000, req->cur_psn);
	else if (retry->deferred_until_ns != RXE_NEVER)
		trace_line(&w->trace, w->now_ns, end->letter, "  deferred until %.1f from %u",
			   (double)retry->deferred_until_ns / 1000, req->cur_psn);
	else
		trace_line(&w->trace, w->now_ns, end->letter, "  rewind to %u", req->cur_psn);
}

static void note_stopped(struct world *w, struct end *end)
{
	const uint32_t process = end->qp.rc.retry.stopped_process;

	if (process && process != end->seen_stopped)
		trace_line(&w->trace, w->now_ns, end->letter, "  peer is stopped");
	end->seen_stopped = process;
}

/* Traces what the last call changed in the QPs of a node. */
static void note(struct world *w, struct node *node, bool by_timer)
{
	uint32_t i;

	for (i = 0; i < node->num_ends; i++) {
		struct end *end = node->ends[i];

		note_rewind(w, end, by_timer);
		note_stopped(w, end);
		if (end->qp.state != end->seen_state && end->qp.state == RXE_QPS_ERR)
			trace_line(&w->trace, w->now_ns, end->letter, "  to ERR");
		end->seen_cur = end->qp.rc.req.cur_psn;
		end->seen_state = end->qp.state;
	}
	note_events(w, node);
}

void world_modify(struct world *w, struct end *end, enum rxe_qp_state state)
{
	const struct rxe_qp_attr attr = { .qp_state = state, .en_sqd_async_notify = 1 };
	uint32_t mask = RXE_QP_STATE | (state == RXE_QPS_SQD ? RXE_QP_EN_SQD_ASYNC_NOTIFY : 0u);
	enum modify_result result =
		rxe_qp_modify(&end->node->engine, &end->qp, &attr, mask, w->now_ns);

	assert(result == MODIFY_OK);
	(void)result;
	note(w, end->node, false);
}

static struct node *find_node(const struct world *w, const struct gid *gid)
{
	uint32_t i;

	for (i = 0; i < w->num_nodes; i++) {
		const struct gid *gids = w->node[i]->engine.cfg.gids;

		if (gid_equal(&gids[0], gid) || gid_equal(&gids[1], gid))
			return w->node[i];
	}
	return NULL;
}

/* Any byte but the fifth of the BTH, which the ICRC does not cover. */
static void corrupt(struct world *w, struct flying *flying)
{
	uint32_t at = link_random(&w->link, flying->len);

	w->link.lost++;
	flying->corrupt = true;
	flying->bytes[at == 4 ? 5 : at] ^= 0x10;
}

static bool is_second_path(const struct flying *flying)
{
	return gid_is_v4(&flying->src) && flying->src.raw[12] == 10 && flying->src.raw[13] == 1;
}

/* Puts one packet of a train on the link, unless the link loses it. */
static void launch(struct world *w, struct flying *flying, struct end *from,
		   const struct wire_packet *packet)
{
	static const char marks[] = { '>', 'x', 'd', 'l', 'c', 'q' };
	uint64_t delay_ns;
	enum link_act act = link_judge(&w->link, from ? from->letter : '?', trace_op(packet),
				       packet->bth.psn, &delay_ns);
	bool second = is_second_path(flying);

	if (w->link.cut & 1u << second)
		act = LINK_DROP;
	flying->at_ns = w->now_ns + w->link.delay_ns;
	if (act != LINK_DROP && !link_queue(&w->link, flying))
		act = LINK_FULL;
	flying->at_ns += delay_ns; /* on another path than those after it */
	trace_packet(&w->trace, w->now_ns, from ? from->letter : '?', marks[act], packet,
		     second ? " path 2" : "");
	switch (act) {
	case LINK_FULL:
	case LINK_DROP: w->link.lost++; return;
	case LINK_CORRUPT: corrupt(w, flying); break;
	case LINK_DUP: link_push(&w->link, flying); break;
	case LINK_PASS:
	case LINK_DELAY: break;
	}
	link_push(&w->link, flying);
}

static struct end *sender_of(const struct node *node, const struct wire_packet *packet)
{
	uint32_t i;

	for (i = 0; i < node->num_ends; i++) {
		const struct end *end = node->ends[i];

		if (packet->shape & SHAPE_DETH ? end->qp.qpn == packet->deth.src_qpn
					       : end->qp.attr.dest_qp_num == packet->bth.dest_qpn)
			return node->ends[i];
	}
	return NULL;
}

static void split(struct world *w, struct node *node, const struct wire_train *train)
{
	struct node *to = find_node(w, &train->dst);
	uint32_t at = 0, i;

	assert(to);
	for (i = 0; i < train->segs; i++) {
		uint32_t left = train->len - at;
		struct flying flying = { .to = to->index,
					 .len = left < train->seg_len ? left : train->seg_len,
					 .ip_id = (uint16_t)i,
					 .src_port = node->engine.cfg.tx_ports[train->tx_index],
					 .src = train->src,
					 .dst = train->dst };
		struct wire_packet packet;
		enum wire_result result = wire_parse(&packet, train->buf + at, flying.len);
		struct end *from;

		assert(result == WIRE_OK);
		(void)result;
		memcpy(flying.bytes, train->buf + at, flying.len);
		at += flying.len;
		w->sent++;
		node->sent++;
		node->sent_bytes += flying.len;
		from = sender_of(node, &packet);
		if (w->watch.packet)
			w->watch.packet(w->watch.context, node, from, &packet);
		launch(w, &flying, from, &packet);
	}
	assert(at == train->len);
	w->trains++;
}

/* As lib/progress/turn.c: one train is built, and the engine is asked for no more before the link
 * has taken it. */
static void build_unsent(struct world *w, struct node *node)
{
	if (node->unsent.len > 0)
		return;
	node->unsent = (struct wire_train){ .buf = node->unsent.buf,
					    .max_segs = (uint16_t)node->max_segs };
	(void)rxe_engine_output(&node->engine, &node->unsent, w->now_ns);
}

static void send_all(struct world *w, struct node *node)
{
	struct wire_train train = { .buf = w->train_buf, .max_segs = (uint16_t)node->max_segs };

	if (node->unsent.len > 0)
		split(w, node, &node->unsent);
	node->unsent.len = 0;
	while (rxe_engine_output(&node->engine, &train, w->now_ns))
		split(w, node, &train);
	rxe_time_wait_trains_sent(&node->engine);
}

static void flush_node(struct world *w, struct node *node)
{
	if (node->asleep_until_ns)
		return;
	if (node->full_until_ns > w->now_ns)
		build_unsent(w, node);
	else
		send_all(w, node);
	note(w, node, false);
	rxe_engine_settle(&node->engine);
	note(w, node, false);
	poll_cq(w, node, &node->cq, atomic_load(&node->cq.visible));
	poll_cq(w, node, &node->xcq, atomic_load(&node->xcq.visible));
}

void world_flush(struct world *w)
{
	uint32_t i;

	for (i = 0; i < w->num_nodes; i++)
		flush_node(w, w->node[i]);
	if (w->watch.step)
		w->watch.step(w->watch.context);
}

void world_inject(struct world *w, struct end *from, struct wire_packet *packet,
		  const void *payload)
{
	const struct rxe_qp *qp = &from->qp;
	struct flying flying = { .to = from->peer->node->index,
				 .src_port = qp->flow.src_port,
				 .src = qp->flow.src,
				 .dst = qp->flow.dst };
	uint32_t pad = -packet->payload_len & 3;
	size_t n;

	packet->shape = wire_shape(packet->bth.opcode);
	packet->bth.pkey = 0xffff;
	packet->bth.mig_req = true;
	packet->bth.dest_qpn = qp->attr.dest_qp_num;
	packet->bth.pad = (uint8_t)pad;
	n = wire_emit_headers(flying.bytes, packet);
	if (packet->payload_len > 0)
		memcpy(flying.bytes + n, payload, packet->payload_len);
	n += packet->payload_len + pad;
	icrc_store(flying.bytes + n, icrc_compute(&qp->flow, 0, flying.bytes, n));
	flying.len = (uint32_t)n + ICRC_LEN;
	launch(w, &flying, from, packet);
}

/* Packets other than the expected next one. */
static void note_input(struct world *w, const struct node *node, const struct rxe_counters *before,
		       const struct flying *flying)
{
	const struct rxe_counters *after = &node->counters;
	struct wire_packet packet;
	const struct end *end;
	const char *how = NULL;

	if (after->duplicate_request != before->duplicate_request)
		how = "duplicate";
	else if (after->out_of_seq_request != before->out_of_seq_request)
		how = "early";
	else if (after->rcvd_bad_icrc != before->rcvd_bad_icrc)
		how = "bad ICRC";
	if (!how || w->trace.quiet || wire_parse(&packet, flying->bytes, flying->len) != WIRE_OK)
		return;
	end = node_end(node, packet.bth.dest_qpn);
	trace_line(&w->trace, w->now_ns, end ? end->letter : '?', "  %s %s %u", how,
		   trace_op(&packet), packet.bth.psn);
}

static void arrive(struct world *w, struct flying *flying)
{
	struct node *node = w->node[flying->to];
	struct rxe_counters before = node->counters;
	const struct wire_packet *packet = NULL;
	struct wire_packet parsed;
	struct end *to;
	const struct wire_arrival arrival = {
		.p = flying->bytes,
		.len = flying->len,
		.src_port = flying->src_port,
		.ip_id = flying->ip_id,
		.id_rule = IP_ID_EXACT,
		.hop_limit = 64,
		.src = flying->src,
		.dst = flying->dst,
	};

	node->arrived++;
	if (!flying->corrupt && wire_parse(&parsed, flying->bytes, flying->len) == WIRE_OK)
		packet = &parsed;
	to = packet ? node_end(node, packet->bth.dest_qpn) : NULL;
	if (w->watch.arrives)
		w->watch.arrives(w->watch.context, node, to, flying->len, packet);
	rxe_engine_input(&node->engine, &arrival, w->now_ns);
	note_input(w, node, &before, flying);
	if (w->watch.arrived)
		w->watch.arrived(w->watch.context, node, to, flying->len, packet);
	note(w, node, false);
	free(flying);
}

void world_sleep(struct world *w, struct node *node, uint64_t until_ns)
{
	assert(until_ns > w->now_ns);
	if (!node->asleep_until_ns)
		node->asleep_until_ns = until_ns;
}

static const struct node *find_local(const void *context, const struct gid *gid)
{
	return find_node(context, gid);
}

void world_share_machine(struct world *w)
{
	for (uint32_t i = 0; i < w->num_nodes; i++) {
		w->node[i]->find_local = find_local;
		w->node[i]->find_context = w;
	}
}

void world_stop(struct world *w, struct node *node, uint64_t until_ns)
{
	if (node->asleep_until_ns)
		return;
	world_sleep(w, node, until_ns);
	node->is_stopped = true;
	trace_line(&w->trace, w->now_ns, '*', "  node %u stopped", node->index);
}

void world_kill(struct world *w, struct node *node)
{
	node->asleep_until_ns = 0;
	node->is_stopped = false;
	trace_line(&w->trace, w->now_ns, '*', "  node %u killed", node->index);
	node_kill(node, w->now_ns);
}

void world_fill(struct world *w, struct node *node, uint64_t until_ns)
{
	assert(until_ns > w->now_ns);
	node->full_until_ns = until_ns;
	if (!node->unsent.buf)
		node->unsent.buf = malloc(TRAIN_MAX_BYTES);
	assert(node->unsent.buf);
}

/* The program runs again: packets that waited in its socket arrive at once. */
static void wake(struct world *w)
{
	uint32_t i;

	for (i = 0; i < w->num_nodes; i++) {
		struct node *node = w->node[i];

		if (node->asleep_until_ns > w->now_ns)
			continue;
		if (node->is_stopped)
			trace_line(&w->trace, w->now_ns, '*', "  node %u runs", node->index);
		node->asleep_until_ns = 0;
		node->is_stopped = false;
		node->waiting_bytes = 0;
	}
}

/* The receiver sleeps: the packet waits in the socket, or is lost when the socket is full. */
static bool waits(struct world *w, struct flying *flying)
{
	struct node *node = w->node[flying->to];

	if (!node->asleep_until_ns)
		return false;
	node->waiting_bytes += flying->len;
	flying->at_ns = node->asleep_until_ns;
	if (node->socket_bytes && node->waiting_bytes > node->socket_bytes)
		w->link.lost++;
	else
		link_push(&w->link, flying);
	free(flying);
	return true;
}

static uint64_t next_ns(const struct world *w)
{
	uint64_t next = link_next_ns(&w->link);
	uint32_t i;

	for (i = 0; i < w->num_nodes; i++) {
		uint64_t deadline = rxe_engine_deadline(&w->node[i]->engine);

		if (w->node[i]->asleep_until_ns)
			deadline = w->node[i]->asleep_until_ns;
		if (w->node[i]->full_until_ns > w->now_ns && w->node[i]->full_until_ns < deadline)
			deadline = w->node[i]->full_until_ns;
		if (deadline < next)
			next = deadline;
	}
	return next;
}

bool world_step(struct world *w, uint64_t until_ns)
{
	uint64_t next = next_ns(w);
	uint32_t i;

	if (next == UINT64_MAX || next > until_ns)
		return false;
	if (next > w->now_ns)
		w->now_ns = next;
	wake(w);
	while (link_next_ns(&w->link) <= w->now_ns) {
		struct flying *flying = link_pop(&w->link);

		if (!waits(w, flying))
			arrive(w, flying);
	}
	for (i = 0; i < w->num_nodes; i++) {
		struct node *node = w->node[i];

		if (node->asleep_until_ns || rxe_engine_deadline(&node->engine) > w->now_ns)
			continue;
		rxe_engine_expire(&node->engine, w->now_ns);
		note(w, node, true);
	}
	world_flush(w);
	return true;
}

void world_run_until(struct world *w, double until_us)
{
	uint64_t until_ns = (uint64_t)(until_us * 1000 + 0.5);

	world_flush(w);
	while (world_step(w, until_ns))
		;
	if (w->now_ns < until_ns)
		w->now_ns = until_ns;
}

void world_wait(struct world *w, const struct node *node)
{
	if (node->asleep_until_ns)
		world_run_until(w, (double)node->asleep_until_ns / 1000);
}

void world_run(struct world *w)
{
	world_flush(w);
	while (world_step(w, w->now_ns + FOREVER_NS))
		;
}
