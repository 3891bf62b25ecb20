/* SPDX-License-Identifier: MIT */
/* Receiving frames: the list of flows of an engine, the walk over it for each frame, the receive
 * hash, and delivery to the queues that flows name. */
#include "emu/raw/flow.h"

#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "emu/complete.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/qp.h"
#include "emu/raw/frame.h"
#include "net/wire/gid.h"
#include "net/wire/packet.h"

/* Rules: a table says where each header is, the rest is a comparison under a mask. */

struct place {
	size_t offset; /* in struct raw_level */
	uint32_t len;
	uint32_t excludes; /* headers that no packet has beside it at one level */
};

#define AT(member) offsetof(struct raw_level, member), sizeof(((struct raw_level *)0)->member)
#define L3	   (1u << RAW_IPV4 | 1u << RAW_IPV6)
#define L4	   (1u << RAW_TCP | 1u << RAW_UDP | 1u << RAW_ESP)
#define TUNNEL	   (1u << RAW_VXLAN | 1u << RAW_GRE | 1u << RAW_MPLS)

/* clang-format off */
static const struct place places[RAW_HEADERS] = {
	[RAW_ETH]   = { AT(eth),   1u << RAW_ETH },
	[RAW_IPV4]  = { AT(ipv4),  L3 },
	[RAW_IPV6]  = { AT(ipv6),  L3 },
	[RAW_TCP]   = { AT(ports), L4 },
	[RAW_UDP]   = { AT(ports), L4 },
	[RAW_ESP]   = { AT(esp),   L4 },
	[RAW_VXLAN] = { AT(vxlan), 1u << RAW_VXLAN | 1u << RAW_GRE },
	[RAW_GRE]   = { AT(gre),   1u << RAW_VXLAN | 1u << RAW_GRE },
	[RAW_MPLS]  = { AT(mpls),  1u << RAW_MPLS | 1u << RAW_VXLAN },
};
/* clang-format on */

uint32_t raw_match_len(enum raw_header header)
{
	assert(header < RAW_HEADERS);
	return places[header].len;
}

bool raw_rule_add(struct raw_rule *rule, enum raw_header header, bool inner, const void *value,
		  const void *mask)
{
	struct raw_match *match = &rule->match[rule->num_matches];

	if (inner && (TUNNEL & 1u << header))
		return false;
	for (uint32_t i = 0; i < rule->num_matches; i++) {
		if (rule->match[i].inner == inner &&
		    (places[header].excludes & 1u << rule->match[i].header))
			return false;
	}
	assert(rule->num_matches < RAW_MAX_MATCHES);
	*match = (struct raw_match){ .header = (uint8_t)header, .inner = inner };
	memcpy(match->value, value, raw_match_len(header));
	memcpy(match->mask, mask, raw_match_len(header));
	rule->num_matches++;
	return true;
}

static bool matches(const struct raw_match *match, const struct raw_frame *frame)
{
	const struct raw_level *level = &frame->level[match->inner];
	const struct place *place = &places[match->header];
	const uint8_t *bytes = (const uint8_t *)level + place->offset;

	if (!raw_level_has(level, (enum raw_header)match->header))
		return false;
	for (uint32_t i = 0; i < place->len; i++) {
		if ((bytes[i] ^ match->value[i]) & match->mask[i])
			return false;
	}
	return true;
}

bool raw_rule_matches(const struct raw_rule *rule, const struct raw_frame *frame)
{
	for (uint32_t i = 0; i < rule->num_matches; i++) {
		if (!matches(&rule->match[i], frame))
			return false;
	}
	return true;
}

/* The same header under the same mask, with the same bits under it. */
static bool match_equal(const struct raw_match *a, const struct raw_match *b)
{
	if (a->header != b->header || a->inner != b->inner)
		return false;
	for (uint32_t i = 0; i < RAW_MAX_MATCH_LEN; i++) {
		if (a->mask[i] != b->mask[i] || ((a->value[i] ^ b->value[i]) & a->mask[i]))
			return false;
	}
	return true;
}

static bool has_equal(const struct raw_rule *rule, const struct raw_match *match)
{
	for (uint32_t i = 0; i < rule->num_matches; i++) {
		if (match_equal(&rule->match[i], match))
			return true;
	}
	return false;
}

/* A rule has each header once at most, so equal counts and one direction suffice. */
bool raw_rule_equal(const struct raw_rule *a, const struct raw_rule *b)
{
	if (a->num_matches != b->num_matches)
		return false;
	for (uint32_t i = 0; i < a->num_matches; i++) {
		if (!has_equal(b, &a->match[i]))
			return false;
	}
	return true;
}

enum rank {
	RANK_SNIFFER,
	RANK_NORMAL,
	RANK_DEFAULT,
};

static enum rank rank_of(const struct rxe_flow *flow)
{
	switch (flow->type) {
	case RXE_FLOW_SNIFFER: return RANK_SNIFFER;
	case RXE_FLOW_NORMAL: return RANK_NORMAL;
	case RXE_FLOW_ALL_DEFAULT:
	case RXE_FLOW_MC_DEFAULT: return RANK_DEFAULT;
	}
	return RANK_DEFAULT;
}

static bool is_behind(const struct rxe_flow *a, const struct rxe_flow *b)
{
	if (rank_of(a) != rank_of(b))
		return rank_of(a) > rank_of(b);
	return a->priority > b->priority;
}

static void tell_host(struct rxe_engine *engine)
{
	if (engine->cfg.ops->raw_listens)
		engine->cfg.ops->raw_listens(engine->cfg.host, engine->flows != NULL);
}

void rxe_flow_add(struct rxe_engine *engine, struct rxe_flow *flow)
{
	struct rxe_flow *before = engine->flows;

	while (before && !is_behind(before, flow))
		before = before->next;
	if (before)
		DL_PREPEND_ELEM(engine->flows, before, flow);
	else
		DL_APPEND(engine->flows, flow);
	tell_host(engine);
}

void rxe_flow_remove(struct rxe_engine *engine, struct rxe_flow *flow)
{
	DL_DELETE(engine->flows, flow);
	tell_host(engine);
}

static bool wants(const struct rxe_flow *flow, const struct raw_frame *frame,
		  const struct rxe_qp *from)
{
	if (flow->qp == from && !flow->hears_self)
		return false;
	switch (flow->type) {
	case RXE_FLOW_NORMAL: return raw_rule_matches(&flow->rule, frame);
	case RXE_FLOW_MC_DEFAULT: return frame->level[0].eth.dst[0] & 1;
	case RXE_FLOW_ALL_DEFAULT:
	case RXE_FLOW_SNIFFER: return true;
	}
	return false;
}

/* Whether a flow shares the frames that another one takes. */
static bool shares(const struct rxe_flow *flow, const struct rxe_flow *taker)
{
	if (rank_of(flow) != rank_of(taker))
		return false;
	return rank_of(flow) == RANK_DEFAULT ||
	       (flow->priority == taker->priority && raw_rule_equal(&flow->rule, &taker->rule));
}

/* Addresses of IPv6 and two ports. */
#define MAX_INPUT (16u + 16u + 2u + 2u)
static_assert(MAX_INPUT + 4 <= RSS_KEY_LEN, "the key covers every field");

/* The Toeplitz hash as Microsoft defines it: the key's 32 bits at each set bit of the data are
 * added modulo 2. */
static uint32_t toeplitz(const uint8_t key[RSS_KEY_LEN], const uint8_t *data, uint32_t len)
{
	uint32_t window = get_be32(key), hash = 0;
	uint32_t bit;

	assert(len <= RSS_KEY_LEN - 4);
	for (uint32_t i = 0; i < len; i++) {
		for (bit = 0; bit < 8; bit++) {
			if (data[i] & 0x80u >> bit)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> (7 - bit) & 1u);
		}
	}
	return hash;
}

/* A field of the hash, in the order of the input. */
struct field {
	uint32_t bit;
	enum raw_header header;
	size_t offset; /* in struct raw_level */
	uint32_t len;
};

#define IN(member) offsetof(struct raw_level, member), sizeof(((struct raw_level *)0)->member)

/* clang-format off */
static const struct field fields[] = {
	{ RSS_SRC_IPV4,     RAW_IPV4, IN(ipv4.src) },
	{ RSS_DST_IPV4,     RAW_IPV4, IN(ipv4.dst) },
	{ RSS_SRC_IPV6,     RAW_IPV6, IN(ipv6.src) },
	{ RSS_DST_IPV6,     RAW_IPV6, IN(ipv6.dst) },
	{ RSS_SRC_PORT_TCP, RAW_TCP,  IN(ports.src) },
	{ RSS_DST_PORT_TCP, RAW_TCP,  IN(ports.dst) },
	{ RSS_SRC_PORT_UDP, RAW_UDP,  IN(ports.src) },
	{ RSS_DST_PORT_UDP, RAW_UDP,  IN(ports.dst) },
};
/* clang-format on */

uint32_t rss_hash(const struct rxe_rss *rss, const struct raw_frame *frame)
{
	const struct raw_level *level = &frame->level[rss->fields & RSS_INNER ? 1 : 0];
	uint8_t input[MAX_INPUT];
	uint32_t len = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *field = &fields[i];

		if (!(rss->fields & field->bit) || !raw_level_has(level, field->header))
			continue;
		assert(len + field->len <= MAX_INPUT);
		memcpy(input + len, (const uint8_t *)level + field->offset, field->len);
		len += field->len;
	}
	return toeplitz(rss->key, input, len);
}

/* The queue that takes the frame: the queue pair's own, or a work queue by the hash. */
static struct rxe_qp *receiver(const struct rxe_flow *flow, const struct raw_frame *frame)
{
	const struct rxe_rss *rss = flow->qp->rss;

	return rss ? rss->wq[rss_hash(rss, frame) & ((1u << rss->log_size) - 1)] : flow->qp;
}

static enum mr_check store(struct rxe_engine *engine, struct rxe_qp *qp,
			   const struct rxe_flow_input *input, bool strips)
{
	const uint32_t front = RAW_ETH_LEN - 2; /* both addresses */
	enum mr_check result;

	if (!strips)
		return rxe_recv_scatter(engine, qp, 0, input->p, input->len);
	result = rxe_recv_scatter(engine, qp, 0, input->p, front);
	if (result != MR_OK)
		return result;
	return rxe_recv_scatter(engine, qp, front, input->p + front + RAW_VLAN_LEN,
				input->len - front - RAW_VLAN_LEN);
}

/* A receive that is too short or cannot be written completes in error, and the queue pair enters
 * ERR, as for UD. */
static void deliver(struct rxe_engine *engine, const struct rxe_flow *flow,
		    const struct rxe_flow_input *input, const struct raw_frame *frame)
{
	struct rxe_qp *qp = receiver(flow, frame);
	const struct raw_eth *eth = &frame->level[0].eth;
	const bool strips = qp->strips_tag && eth->tagged;
	const struct rxe_recv_done done = {
		.status = RXE_WC_SUCCESS,
		.opcode = RXE_WC_RECV,
		.byte_len = input->len - (strips ? RAW_VLAN_LEN : 0),
		.flags = raw_checksums_are_good(frame, input->p) ? RXE_WC_IP_CSUM_OK : 0,
		.flow_tag = flow->tag,
		.cvlan = strips ? get_be16(eth->vlan) : 0,
	};

	if (!rxe_qp_receives(qp) || !rxe_recv_claim(engine, qp)) {
		engine->cfg.counters->rcvd_dropped++;
		return;
	}
	if (done.byte_len > qp->claim.len)
		rxe_recv_fail(engine, qp, RXE_WC_LOC_LEN_ERR);
	else
		rxe_recv_stored(engine, qp, store(engine, qp, input, strips), &done);
}

static void count_frame(struct rxe_flow_count *counts, uint32_t len)
{
	struct rxe_flow_count *count;

	LL_FOREACH (counts, count) {
		count->packets++;
		count->bytes += len;
	}
}

bool rxe_flow_steer(struct rxe_engine *engine, const struct rxe_flow_input *input)
{
	const struct rxe_flow *taker = NULL;
	struct rxe_flow *flow;
	struct raw_frame frame;
	bool any = false;

	if (!engine->flows || !raw_frame_parse(&frame, input->p, input->len))
		return false;
	DL_FOREACH (engine->flows, flow) {
		if (!wants(flow, &frame, input->from) || (taker && !shares(flow, taker)))
			continue;
		if (!taker && flow->type != RXE_FLOW_SNIFFER && !flow->passes_on)
			taker = flow;
		any = true;
		count_frame(flow->counts, input->len);
		if (!flow->drops)
			deliver(engine, flow, input, &frame);
	}
	return any;
}
