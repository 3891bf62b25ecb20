// SPDX-License-Identifier: MIT
/* Sending: a train becomes a record in the ring to its receiver, or to each member of its group. */
#include <errno.h>
#include <string.h>

#include "net/link/clock.h"
#include "net/link/memory/private.h"

#define BTH_QPN_TOP 5 /* offset of the top byte of the destination QPN */

/* The ring is full. Whether its reader takes nothing any more. */
static bool is_stalled(struct memory_peer *peer)
{
	const uint64_t now_ns = clock_now_ns();

	if (peer->full_since_ns == 0 || peer->full_head != peer->out.head_seen) {
		peer->full_since_ns = now_ns;
		peer->full_head = peer->out.head_seen;
	}
	return now_ns - peer->full_since_ns > MEMORY_STALL_NS;
}

static struct ring_record record_of(const struct memory_link *link, const struct wire_train *train)
{
	return (struct ring_record){
		.len = train->len,
		.seg_len = train->segs > 1 ? train->seg_len : (uint16_t)train->len,
		.segs = train->segs,
		.src_port = link->base.tx_port[train->tx_index],
		.traffic_class = train->traffic_class,
		.hop_limit = train->hop_limit ? train->hop_limit : MEMORY_HOP_LIMIT,
		.flow_label = train->flow_label,
		.no_icrc = train->no_icrc,
		.src = train->src,
		.dst = train->dst,
	};
}

enum put_result {
	PUT_TAKEN, /* or lost, as on any link */
	PUT_FULL,
};

/* Space in the ring to a slot. *ret_space NULL: the train is lost. */
static enum put_result reserve(struct memory_link *link, uint32_t to,
			       const struct wire_train *train, uint8_t **ret_space)
{
	struct memory_peer *peer;

	*ret_space = NULL;
	if (!memory_is_live(link->hub, to))
		return PUT_TAKEN;
	peer = memory_peer_get(link, to);
	if (!peer)
		return link->is_hub_busy ? PUT_FULL : PUT_TAKEN;
	/* What the slot's former process sent is received first. */
	if (memory_peer_is_present(link, to, peer))
		*ret_space = memory_peer_space(link, peer, train->len);
	if (*ret_space) {
		peer->full_since_ns = 0;
		return PUT_TAKEN;
	}
	if (!is_stalled(peer))
		return PUT_FULL;
	link->base.stats.send_errors += train->segs;
	return PUT_TAKEN;
}

uint8_t *memory_space(struct link *base, const struct gid *dst, uint32_t slot)
{
	struct memory_link *link = (struct memory_link *)base;
	struct memory_peer *peer;

	if (slot >= link->slots || !gid_equal(dst, &link->cfg.gid) ||
	    !memory_is_live(link->hub, slot))
		return NULL;
	peer = memory_peer_get(link, slot);
	return peer && memory_peer_is_present(link, slot, peer)
		       ? memory_peer_space(link, peer, TRAIN_MAX_BYTES)
		       : NULL;
}

/* Wakes a slot's process if it waits. */
static void wake(struct memory_link *link, struct memory_peer *peer, uint32_t slot)
{
	uint32_t armed;

	/* Between the store of tail and the load of armed: pairs with begin() in receive.c. */
	atomic_thread_fence(memory_order_seq_cst);
	armed = atomic_load_explicit(&peer->file->armed, memory_order_relaxed);
	if (!(armed & MEMORY_ARMED) || armed == peer->rung)
		return;
	peer->rung = armed;
	memory_wake_slot(link->hub, link->cfg.bells, slot, armed, link->base.wait_fd);
}

static void publish(struct memory_link *link, uint32_t to, const struct wire_train *train,
		    uint8_t *space)
{
	const struct ring_record record = record_of(link, train);
	struct memory_peer *peer = link->peer[to];

	/* A train that was built for the slot's former process lies in the same ring. */
	if (space != train->buf)
		memmove(space, train->buf, train->len);
	ring_publish(&peer->out, &record);
	wake(link, peer, to);
}

static enum put_result send_to_slot(struct memory_link *link, uint32_t to,
				    const struct wire_train *train)
{
	uint8_t *space;
	const enum put_result result = reserve(link, to, train, &space);

	if (space)
		publish(link, to, train, space);
	return result;
}

/* True also of a process that cannot be asked for now: reserve() reports that. */
static bool may_be_member(struct memory_link *link, uint32_t slot, const struct gid *group)
{
	const struct memory_peer *peer;

	if (!memory_is_live(link->hub, slot))
		return false;
	peer = memory_peer_get(link, slot);
	return peer ? memory_is_member(peer->file, group) : link->is_hub_busy;
}

/* A train that one member cannot take now is sent to none: the caller sends it again. */
static enum put_result send_to_group(struct memory_link *link, const struct wire_train *train)
{
	uint8_t member[MEMORY_SLOTS], *space;
	uint32_t n = 0;

	for (uint32_t to = 0; to < link->slots; to++) {
		if (!may_be_member(link, to, &train->dst))
			continue;
		if (reserve(link, to, train, &space) == PUT_FULL)
			return PUT_FULL;
		if (space)
			member[n++] = (uint8_t)to;
	}
	for (uint32_t i = 0; i < n; i++)
		(void)send_to_slot(link, member[i], train);
	return PUT_TAKEN;
}

static void drop_unreachable(struct memory_link *link, const struct wire_train *train)
{
	link->base.stats.send_errors += train->segs;
	link_warn(&link->cfg.log, LINK_NO_ROUTE,
		  "a device with --link memory reaches only processes of the same device: packets "
		  "to other addresses are dropped");
}

/* Runts, and numbers of no slot, are for slot 0. */
static uint32_t slot_of(const struct memory_link *link, const struct wire_train *train)
{
	const uint32_t slot = train->len > BTH_QPN_TOP ? train->buf[BTH_QPN_TOP] : 0;

	return slot < link->slots ? slot : 0;
}

int memory_send(struct link *base, const struct wire_train *trains, size_t n)
{
	struct memory_link *link = (struct memory_link *)base;

	for (size_t i = 0; i < n; i++) {
		const struct wire_train *train = &trains[i];
		enum put_result result = PUT_TAKEN;

		assert(train->segs > 0 && train->len > 0 && train->tx_index < LINK_TX_PORTS);
		if (gid_is_multicast(&train->dst))
			result = send_to_group(link, train);
		else if (gid_equal(&train->dst, &link->cfg.gid))
			result = send_to_slot(link, slot_of(link, train), train);
		else
			drop_unreachable(link, train);
		if (result == PUT_FULL)
			return i > 0 ? (int)i : -EAGAIN;
	}
	return (int)n;
}
