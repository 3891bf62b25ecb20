/* SPDX-License-Identifier: MIT */
/* Simulated hosts. Memory is one block. The key table, and a hole for unmapped memory, say what an
 * engine may not access. */
#include "tests/sim/node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/unkind/host.h"
#include "net/wire/train.h"
#include "tests/qp_required.h"

#define CQ_ENTRIES    16384u
#define MAX_SGE	      8u
#define SRQ_DEPTH     256u
#define PATTERN	      0x10000u /* bytes repeat */
#define NODE_PATTERNS 8

static bool is_there(const struct node *node, uint64_t addr, size_t len)
{
	assert(addr >= node->base && len <= node->mem_len &&
	       addr - node->base <= node->mem_len - len);
	return addr + len <= node->unmapped_at || addr >= node->unmapped_end;
}

bool node_draws_deferred(struct node *node)
{
	node->deferred_random = node->deferred_random * 1664525u + 1013904223u;
	return node->deferred_random >> 16 < node->deferred_rate;
}

static bool is_deferred_now(struct node *node, uint64_t addr)
{
	bool waits = node->engine.now_ns < node->deferred_until_ns;

	node->is_deferred = (waits && addr >= node->deferred_at && addr < node->deferred_end) ||
			    (node->deferred_rate > 0 && node_draws_deferred(node));
	node->num_deferred += node->is_deferred;
	return node->is_deferred;
}

static bool is_deferred(void *host)
{
	const struct node *node = host;

	return node->is_deferred;
}

static uint64_t addr_of(const struct rxe_mr *mr, uint64_t iova)
{
	return mr->addr + (iova - mr->iova);
}

static bool mem_read(void *host, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len)
{
	struct node *node = host;
	uint64_t addr = addr_of(mr, iova);

	if (is_deferred_now(node, addr) || !is_there(node, addr, len))
		return false;
	memcpy(dst, node->mem + (addr - node->base), len);
	return true;
}

static bool mem_write(void *host, const struct rxe_mr *mr, uint64_t iova, const void *src,
		      size_t len)
{
	struct node *node = host;
	uint64_t addr = addr_of(mr, iova);

	if (is_deferred_now(node, addr) || !is_there(node, addr, len))
		return false;
	if (node->wrote)
		node->wrote(node->wrote_context, node, (uint32_t)(addr - node->base),
			    (uint32_t)len);
	memcpy(node->mem + (addr - node->base), src, len);
	node->writes += len;
	return true;
}

static bool mem_atomic(void *host, const struct rxe_mr *mr, uint64_t iova, enum rxe_atomic_op op,
		       uint64_t compare_or_add, uint64_t swap, uint64_t *ret_orig)
{
	struct node *node = host;
	uint64_t addr = addr_of(mr, iova);
	uint64_t value;

	if (is_deferred_now(node, addr) || !is_there(node, addr, sizeof(value)))
		return false;
	memcpy(&value, node->mem + (addr - node->base), sizeof(value));
	*ret_orig = value;
	switch (op) {
	case RXE_CMP_SWAP: value = value == compare_or_add ? swap : value; break;
	case RXE_FETCH_ADD: value += compare_or_add; break;
	}
	memcpy(node->mem + (addr - node->base), &value, sizeof(value));
	node->atomics++;
	return true;
}

/* A deferred call gets a ticket, and its range is asked for again with it. */
static bool mem_persist(void *host, const struct rxe_mr *mr, uint64_t iova, uint64_t len,
			uint64_t *ticket)
{
	struct node *node = host;
	uint64_t addr = addr_of(mr, iova), at = addr - node->base;

	assert(*ticket <= node->tickets);
	if (is_deferred_now(node, addr)) {
		*ticket = *ticket ? *ticket : ++node->tickets;
		return false;
	}
	if (!is_there(node, addr, len))
		return false;
	if (!node->durable)
		node->durable = calloc(1, node->mem_len);
	assert(node->durable);
	memcpy(node->durable + at, node->mem + at, len);
	node->persists++;
	return true;
}

static void cq_notify(void *host, struct rxe_cq *cq)
{
	(void)host;
	(void)cq;
}

static void take_event(void *host, const struct rxe_event *event)
{
	struct node *node = host;

	assert(node->num_events < sizeof(node->events) / sizeof(node->events[0]));
	node->events[node->num_events++] =
		(struct node_event){ *event, atomic_load(&node->cq.visible),
				     atomic_load(&node->xcq.visible) };
}

static uint32_t no_random(void *host)
{
	(void)host;
	return 4;
}

static uint64_t grace_begin(void *host)
{
	(void)host;
	return 1;
}

static bool grace_over(void *host, uint64_t stamp)
{
	const struct node *node = host;

	assert(stamp == 1);
	return node->engine.now_ns >= node->others_inside_until_ns;
}

static uint32_t completing(void *host, const struct rxe_qp *qp, bool is_recv)
{
	struct node_injection *injection = &((struct node *)host)->injection;

	if (injection->qp != qp || injection->is_recv != is_recv || injection->nth == 0)
		return RXE_WC_SUCCESS;
	return --injection->nth == 0 ? injection->status : RXE_WC_SUCCESS;
}

static enum rxe_peer_life peer_life(void *host, const struct rxe_qp *qp, uint64_t since_ns,
				    uint32_t *process)
{
	const struct node *node = host, *peer;

	(void)since_ns;
	peer = node->find_local ? node->find_local(node->find_context, &qp->flow.dst) : NULL;
	if (!peer)
		return RXE_PEER_UNKNOWN;
	assert(peer->engine.cfg.slot == qp->attr.dest_qp_num >> RXE_SLOT_SHIFT);
	if (*process && *process != peer->process)
		return RXE_PEER_EXITED;
	if (!peer->is_stopped)
		return peer->asleep_until_ns ? RXE_PEER_STARVED : RXE_PEER_RUNS;
	*process = peer->process;
	return RXE_PEER_STOPPED;
}

static const struct rxe_time_wait_table *time_wait_of(void *host, const struct gid *dst,
						      uint32_t slot)
{
	const struct node *node = host, *peer;

	peer = node->find_local ? node->find_local(node->find_context, dst) : NULL;
	assert(!peer || peer->engine.cfg.slot == slot);
	return peer ? peer->time_wait : NULL;
}

void node_tell(struct end *end, bool is_recv, uint32_t nth, enum rxe_wc_status status)
{
	end->node->injection = (struct node_injection){ &end->qp, is_recv, nth, status };
	end->node->engine.completions_asked = true;
}

static const struct rxe_host_ops ops = {
	.mem_read = mem_read,
	.mem_write = mem_write,
	.mem_atomic = mem_atomic,
	.mem_persist = mem_persist,
	.is_deferred = is_deferred,
	.cq_notify = cq_notify,
	.event = take_event,
	.random = no_random,
	.grace_begin = grace_begin,
	.grace_over = grace_over,
	.completing = completing,
	.peer_life = peer_life,
	.time_wait_of = time_wait_of,
	.srq_find = node_xsrq_find,
	.srq_take = node_xsrq_take,
	.srq_done = node_xsrq_done,
};

static void *zalloc(size_t len)
{
	void *p = calloc(1, len ? len : 1);

	assert(p);
	return p;
}

/* A host has two addresses, on networks of their own: 10.0.0.N and 10.1.0.N. */
static struct gid gid_of(uint32_t index, uint8_t network)
{
	return (struct gid){
		.raw = { [10] = 0xff, [11] = 0xff, 10, network, 0, (uint8_t)(index + 1) }
	};
}

static uint8_t byte_of(uint32_t index, uint32_t at)
{
	return (uint8_t)(at * 7 + (at >> 8) * 13 + index * 101);
}

/* The initial content of a node's memory, repeated. */
static const uint8_t *pattern_of(uint32_t index)
{
	static uint8_t pattern[NODE_PATTERNS][PATTERN];
	static bool is_made[NODE_PATTERNS];
	uint32_t i;

	assert(index < NODE_PATTERNS);
	for (i = 0; i < PATTERN && !is_made[index]; i++)
		pattern[index][i] = byte_of(index, i);
	is_made[index] = true;
	return pattern[index];
}

uint8_t node_byte(const struct node *node, uint32_t at)
{
	return byte_of(node->index, at);
}

bool node_is_untouched(const struct node *node, uint32_t at, uint32_t len)
{
	const uint8_t *pattern = pattern_of(node->index);

	while (len > 0) {
		uint32_t left = PATTERN - at % PATTERN;
		uint32_t n = len < left ? len : left;

		if (memcmp(node->mem + at, pattern + at % PATTERN, n) != 0)
			return false;
		at += n;
		len -= n;
	}
	return true;
}

/* A node is large, mostly its key table and completion queue, and most lives are short: freed
 * nodes are cleaned and reused. */
static struct node *spare[8];
static uint32_t num_spare;

static struct node *take_node(void)
{
	struct node *node;

	if (num_spare > 0)
		return spare[--num_spare];
	node = zalloc(sizeof(*node));
	node->mrs = zalloc(sizeof(struct rxe_mr_table));
	node->mws = zalloc(sizeof(struct rxe_mw_table));
	node->time_wait = zalloc(sizeof(struct rxe_time_wait_table));
	node->cq_mem = zalloc(rxe_cq_ring_bytes(CQ_ENTRIES));
	node->srq_mem = zalloc(rxe_ring_bytes(SRQ_DEPTH, rxe_recv_stride(MAX_SGE)));
	return node;
}

static void give_node(struct node *node)
{
	struct rxe_mr_table *mrs = node->mrs;
	struct rxe_mw_table *mws = node->mws;
	struct rxe_time_wait_table *time_wait = node->time_wait;
	struct rxe_held *held = node->held;
	void *cq_mem = node->cq_mem, *srq_mem = node->srq_mem;

	memset(mrs->entry, 0, (node->num_mrs + 1) * sizeof(mrs->entry[0]));
	memset(mws->mw, 0, node->num_mws * sizeof(mws->mw[0]));
	atomic_store(&time_wait->count, 0);
	for (uint32_t i = 0; i < RXE_MAX_DELAYED_ACKS; i++)
		atomic_store(&time_wait->delayed[i].qpn, 0);
	memset(node, 0, sizeof(*node));
	node->mrs = mrs;
	node->mws = mws;
	node->time_wait = time_wait;
	node->held = held;
	node->cq_mem = cq_mem;
	node->srq_mem = srq_mem;
	if (num_spare < sizeof(spare) / sizeof(spare[0])) {
		spare[num_spare++] = node;
		return;
	}
	free(node->mrs);
	free(node->mws);
	free(node->time_wait);
	free(node->held);
	free(node->cq_mem);
	free(node->srq_mem);
	free(node);
}

struct node *node_new(uint32_t index, uint32_t mem_len)
{
	struct node *node = take_node();
	const struct rxe_engine_cfg cfg = {
		.ops = &ops,
		.host = node,
		.mrs = node->mrs,
		.mws = { .first = node->mws },
		.counters = &node->counters,
		.slot = index + 1,
		.gids = { gid_of(index, 0), gid_of(index, 1) },
		.tx_ports = { (uint16_t)(0xc000 + index) },
		.num_tx_ports = 1,
		.max_mtu = 4096,
		.time_wait = node->time_wait,
	};
	uint32_t i;

	node->index = index;
	node->process = 1;
	node->base = 0x100000000ull * (index + 1);
	node->unmapped_at = UINT64_MAX;
	node->unmapped_end = 0;
	node->max_segs = TRAIN_MAX_SEGS;
	node->mem = malloc(mem_len);
	assert(node->mem);
	node->mem_len = mem_len;
	for (i = 0; i < mem_len; i += PATTERN)
		memcpy(node->mem + i, pattern_of(index),
		       mem_len - i < PATTERN ? mem_len - i : PATTERN);
	rxe_engine_init(&node->engine, &cfg);
	rxe_cq_init(&node->cq, node->cq_mem, CQ_ENTRIES, NULL);
	rxe_srq_init(&node->srq, NODE_PD, node->srq_mem, SRQ_DEPTH, MAX_SGE, NULL);
	node->key = node_reg(node, 0, mem_len,
			     RXE_LOCAL_WRITE | RXE_REMOTE_WRITE | RXE_REMOTE_READ |
				     RXE_REMOTE_ATOMIC | RXE_FLUSH_GLOBAL | RXE_FLUSH_PERSISTENT);
	return node;
}

void node_free(struct node *node)
{
	while (node->num_ends > 0)
		node_remove_qp(node->ends[0]);
	while (node->retired) {
		struct end *end = node->retired;

		node->retired = end->next_retired;
		free(end);
	}
	node_remove_xsrqs(node);
	free(node->mem);
	free(node->durable);
	free(node->unsent.buf);
	free(node->tags_mem);
	free(node->unkind);
	give_node(node);
}

void node_be_unkind(struct node *node, const struct unkind_plan *plan)
{
	struct rxe_engine_cfg *cfg = &node->engine.cfg;
	const struct unkind_cfg own = {
		.plan = *plan,
		.engine = &node->engine,
		.slot = 0, /* regions of simulated hosts name no owner */
		.below = cfg->ops,
		.below_host = cfg->host,
	};

	assert(!node->unkind && node->num_ends == 0);
	node->unkind = zalloc(sizeof(*node->unkind));
	unkind_host_init(node->unkind, &own);
	cfg->ops = &node->unkind->layer.ops;
	cfg->host = node->unkind;
	node->engine.completions_asked = true;
}

void node_hold(struct node *node)
{
	struct rxe_engine_cfg cfg = node->engine.cfg;

	assert(node->num_ends == 0 && node->engine.num_qp == 0);
	if (!node->held)
		node->held = zalloc(RXE_HOLD_PACKETS * sizeof(struct rxe_held));
	cfg.held = node->held;
	rxe_engine_init(&node->engine, &cfg);
}

uint32_t node_reg(struct node *node, uint32_t offset, uint32_t len, uint32_t rights)
{
	return node_reg_at(node, offset, len, rights, RXE_MR_PLAIN, node->base + offset);
}

uint32_t node_reg_at(struct node *node, uint32_t offset, uint32_t len, uint32_t rights,
		     enum rxe_mr_kind kind, uint64_t iova)
{
	uint32_t index = ++node->num_mrs;
	struct rxe_mr *mr = &node->mrs->entry[index];
	uint32_t key = index << 16 | (0x50 + node->index);

	mr->pd = NODE_PD;
	mr->iova = iova;
	mr->addr = node->base + offset;
	mr->len = len;
	mr->rights = rights;
	mr->kind = kind;
	atomic_store_explicit(&mr->key, key, memory_order_release);
	return key;
}

static void add_mw(struct node *node, uint32_t key, enum rxe_mr_kind kind)
{
	struct rxe_mr *window = &node->mrs->entry[rxe_key_index(key)];

	assert(node->num_mws < RXE_MAX_MW);
	*window = (struct rxe_mr){
		.pd = NODE_PD, .addr = node->num_mws++, .kind = kind, .owner = node->engine.cfg.slot
	};
	atomic_store_explicit(&window->key, key, memory_order_release);
}

uint32_t node_add_mw(struct node *node, enum rxe_mr_kind kind)
{
	uint32_t key = ++node->num_mrs << 16 | (0x50 + node->index);

	add_mw(node, key, kind);
	return key;
}

void node_bind_mw(struct end *end, uint32_t key, const struct rxe_bind *bind)
{
	struct node *node = end->node;
	struct rxe_mw *mw = &node->mws->mw[node->mrs->entry[rxe_key_index(key)].addr];

	mw->iova = mw->at = bind->addr;
	mw->len = bind->len;
	mw->region = bind->region;
	mw->rights = bind->rights;
	mw->qpn = end->qp.qpn;
	end->qp.num_mws++;
	atomic_store(&mw->state, key);
}

void node_open_mw(struct end *end, uint32_t key, const struct rxe_bind *bind)
{
	add_mw(end->node, key, RXE_MR_WINDOW_2);
	node_bind_mw(end, key, bind);
}

void node_dereg(struct node *node, uint32_t key)
{
	atomic_store_explicit(&node->mrs->entry[rxe_key_index(key)].key, 0, memory_order_release);
}

struct end *node_add_qp(struct node *node, char letter, const struct node_qp_opts *opts)
{
	return node_add_qp_numbered(node, letter, opts, rxe_engine_alloc_qpn(&node->engine));
}

struct end *node_add_qp_numbered(struct node *node, char letter, const struct node_qp_opts *opts,
				 uint32_t qpn)
{
	const bool is_target = opts->type == RXE_QPT_XRC_RECV;
	const uint32_t xrcd = opts->xrcd ? opts->xrcd : NODE_XRCD;
	struct end *end = zalloc(sizeof(*end));
	struct rxe_qp_init init = {
		.qpn = qpn,
		.type = opts->type,
		.pd = is_target ? 0 : NODE_PD,
		.xrcd = is_target ? xrcd : 0,
		.send_cq = is_target ? NULL : &node->cq,
		.recv_cq = is_target ? NULL : &node->cq,
		.srq = opts->use_srq ? &node->srq : NULL,
		.srq_sends = opts->use_srq && node->srq.tags && !opts->own_sends,
		.max_send_wr = is_target ? 0 : opts->depth,
		.max_send_sge = MAX_SGE,
		.max_inline_data = NODE_MAX_INLINE,
		.max_recv_wr = opts->depth,
		.max_recv_sge = MAX_SGE,
		.owner = end,
	};

	end->node = node;
	end->letter = letter;
	init.sq_mem = end->sq_mem =
		zalloc(rxe_ring_bytes(opts->depth, rxe_send_stride(MAX_SGE, NODE_MAX_INLINE)));
	init.rq_mem = end->rq_mem = zalloc(rxe_ring_bytes(opts->depth, rxe_recv_stride(MAX_SGE)));
	rxe_qp_init(&node->engine, &end->qp, &init);
	if (is_target && !node->xcq_mem && !node->srq.srqn)
		rxe_srq_name(&node->engine, &node->srq, rxe_engine_alloc_srqn(&node->engine),
			     NODE_XRCD, &node->cq);
	assert(node->num_ends < NODE_MAX_QPS);
	node->ends[node->num_ends++] = end;
	return end;
}

static void modify_to(struct end *end, struct rxe_qp_attr *attr, enum rxe_qp_state to)
{
	enum modify_result result;

	attr->qp_state = to;
	result = rxe_qp_modify(&end->node->engine, &end->qp, attr, qp_required(end->qp.type, to),
			       end->node->engine.now_ns);
	assert(result == MODIFY_OK);
	(void)result;
}

void node_connect(struct end *end, struct end *peer, const struct node_qp_opts *opts,
		  uint32_t peer_psn)
{
	node_connect_to(end, peer, opts, peer_psn, &peer->node->engine.cfg.gids[0]);
}

static void limit_rate(struct end *end, uint32_t kbps)
{
	const struct rxe_qp_attr attr = { .rate_limit = kbps };

	assert(rxe_qp_modify(&end->node->engine, &end->qp, &attr, RXE_QP_RATE_LIMIT,
			     end->node->engine.now_ns) == MODIFY_OK);
}

void node_connect_to(struct end *end, struct end *peer, const struct node_qp_opts *opts,
		     uint32_t peer_psn, const struct gid *peer_gid)
{
	struct rxe_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = opts->rights,
		.path_mtu = opts->mtu,
		.dest_qp_num = peer->qp.qpn,
		.rq_psn = peer_psn,
		.sq_psn = opts->psn,
		.max_rd_atomic = opts->rd_atomic,
		.max_dest_rd_atomic = opts->rd_atomic,
		.min_rnr_timer = opts->rnr_timer,
		.timeout = opts->timeout,
		.retry_cnt = opts->retry_cnt,
		.rnr_retry = opts->rnr_retry,
		.qkey = NODE_QKEY,
		.has_grh = true,
		.av = { .dgid = *peer_gid, .hop_limit = 64 },
	};

	end->peer = peer;
	modify_to(end, &attr, RXE_QPS_INIT);
	modify_to(end, &attr, RXE_QPS_RTR);
	modify_to(end, &attr, RXE_QPS_RTS);
	if (opts->rate_kbps && opts->type != RXE_QPT_XRC_RECV)
		limit_rate(end, opts->rate_kbps);
	if (opts->rearms)
		node_rearm(end, opts->timeout);
	end->seen_state = end->qp.state;
	end->seen_cur = end->qp.rc.req.cur_psn;
}

void node_match_tags(struct node *node, uint32_t max)
{
	node->tags_mem = zalloc(rxe_tag_list_bytes(max, MAX_SGE));
	rxe_tag_list_init(&node->tags, node->tags_mem, max, MAX_SGE);
	rxe_srq_match_tags(&node->srq, &node->tags, &node->cq);
}

void node_rearm(struct end *end, uint8_t timeout)
{
	const struct gid *gids = end->peer->node->engine.cfg.gids;
	const uint8_t other = !gid_equal(&end->qp.flow.dst, &gids[1]);
	const struct rxe_qp_attr attr = {
		.has_alt_grh = true,
		.alt_av = { .dgid = gids[other], .sgid_index = other, .hop_limit = 64 },
		.alt_port_num = 1,
		.alt_timeout = timeout,
		.path_mig_state = RXE_MIG_REARM,
	};
	enum modify_result result =
		rxe_qp_modify(&end->node->engine, &end->qp, &attr,
			      RXE_QP_ALT_PATH | RXE_QP_PATH_MIG_STATE, end->node->engine.now_ns);

	assert(result == MODIFY_OK);
	(void)result;
}

static void take_away(struct end *end)
{
	struct node *node = end->node;
	uint32_t i;

	rxe_qp_fini(&node->engine, &end->qp);
	for (i = 0; node->ends[i] != end; i++)
		;
	node->ends[i] = node->ends[--node->num_ends];
	free(end->sq_mem);
	free(end->rq_mem);
}

void node_remove_qp(struct end *end)
{
	take_away(end);
	free(end);
}

void node_retire_qp(struct end *end)
{
	take_away(end);
	end->sq_mem = end->rq_mem = NULL;
	end->qp.state = RXE_QPS_RESET;
	end->qp.sq.head = end->qp.sq.tail;
	end->qp.rq.head = end->qp.rq.tail;
	end->qp.claim.held = false;
	end->qp.srq = NULL;
	end->next_retired = end->node->retired;
	end->node->retired = end;
}

void node_release_completions(struct node *node)
{
	rxe_cq_release(&node->engine, &node->cq);
	rxe_cq_release(&node->engine, &node->xcq);
}

/* The queue stays for the next program, and the engine forgets it. */
static void leave_cq(struct node *node, struct rxe_cq *cq)
{
	rxe_cq_release(&node->engine, cq);
	rxe_cq_fini(&node->engine, cq);
}

void node_restart(struct node *node)
{
	struct rxe_engine_cfg cfg = node->engine.cfg;

	assert(node->num_ends == 0 && !node->asleep_until_ns);
	node->process++;
	cfg.qpn_last = node->engine.qpn_next - 1;
	leave_cq(node, &node->cq);
	leave_cq(node, &node->xcq);
	rxe_engine_init(&node->engine, &cfg);
	node->engine.completions_asked = node->unkind;
	rxe_srq_init(&node->srq, NODE_PD, node->srq_mem, SRQ_DEPTH, MAX_SGE, NULL);
}

void node_kill(struct node *node, uint64_t now_ns)
{
	static struct rxe_time_wait_table left;

	memcpy(&left, node->time_wait, sizeof(left));
	while (node->num_ends > 0)
		node_remove_qp(node->ends[0]);
	memcpy(node->time_wait, &left, sizeof(left));
	node_restart(node);
	rxe_time_wait_adopt_delayed(&node->engine, now_ns);
}

struct end *node_end(const struct node *node, uint32_t qpn)
{
	const struct rxe_qp *qp = rxe_engine_find_qp(&node->engine, qpn);

	return qp ? qp->owner : NULL;
}
