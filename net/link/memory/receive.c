// SPDX-License-Identifier: MIT
/* Receiving: records of all rings to this slot become arrivals, one for each packet. A thread that
 * waits is woken by a datagram to the doorbell, one that waits for nothing else by the bell; a
 * process that waits for nothing gets neither. */
#include <string.h>
#include <sys/socket.h>

#include "net/link/descriptor.h"
#include "net/link/memory/private.h"
#include "net/wire/icrc.h"

#define DRAIN_BATCH 16u

/* Before the slot's process sends something, it has mapped this process's file. */
static bool may_have_sent(const struct memory_link *link, uint32_t slot)
{
	return atomic_load_explicit(&link->hub->met[link->cfg.slot][slot / 64],
				    memory_order_acquire) >>
		       slot % 64 &
	       1;
}

/* Whether something that it sent may not have been read. */
static bool has_news(const struct memory_link *link, uint32_t slot)
{
	struct memory_peer *peer = link->peer[slot];

	if (peer)
		return memory_peer_waits(link, peer);
	return may_have_sent(link, slot) && link->finished[slot] != memory_epoch(link->hub, slot) &&
	       !memory_is_refused(link, slot);
}

/* Whether a slot's rings are read. A process that has exited may have sent something before. */
static bool is_scanned(struct memory_link *link, uint32_t slot, bool *again)
{
	const bool live = memory_is_live(link->hub, slot);
	struct memory_peer *peer = link->peer[slot];
	bool has_left;

	if (peer && !memory_peer_is_present(link, slot, peer)) {
		memory_peer_leave(link, slot);
		peer = link->peer[slot];
	}
	has_left = peer ? peer->has_left : !live && has_news(link, slot);
	*again |= has_left;
	return (live && may_have_sent(link, slot)) || has_left;
}

/* Follows the hub's list of slots. */
static void rescan(struct memory_link *link)
{
	const uint32_t generation =
		atomic_load_explicit(&link->hub->generation, memory_order_acquire);
	bool again = false;

	if (generation == link->generation)
		return;
	link->num_scanned = link->first_scanned = 0;
	for (uint32_t slot = 0; slot < link->slots; slot++)
		if (is_scanned(link, slot, &again))
			link->scanned[link->num_scanned++] = (uint8_t)slot;
	/* Runs until every packet of the exited peers has been read. */
	link->generation = again ? generation - 1 : generation;
}

/* Gives space back, as far as the arrivals of former calls are concerned. */
static void release(struct memory_link *link)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < link->num_taken; i++) {
		struct memory_peer *peer = link->peer[link->taken[i]];

		assert(peer && peer->has_taken);
		/* The rest of a train is also in use until it was returned. */
		if (peer->segs_left > 0) {
			link->taken[left++] = link->taken[i];
			continue;
		}
		ring_release(&peer->in);
		peer->has_taken = false;
	}
	link->num_taken = left;
}

void memory_handled(struct link *base)
{
	release((struct memory_link *)base);
}

/* Takes the ring's next record. False: there is none. */
static bool take_record(struct memory_link *link, uint32_t slot, struct memory_peer *peer)
{
	switch (ring_take(&peer->in, &peer->record, &peer->next)) {
	case RING_EMPTY: return false;
	case RING_BAD: link->base.stats.bad_frames++; return false;
	case RING_RECORD: break;
	}
	peer->segs_left = peer->record.segs;
	peer->bytes_left = peer->record.len;
	if (!peer->has_taken)
		link->taken[link->num_taken++] = (uint8_t)slot;
	peer->has_taken = true;
	return true;
}

/* A copy with its ICRC. False: no space is left in this call. */
static bool complete(struct memory_link *link, struct wire_arrival *a)
{
	const struct icrc_flow flow = { a->src, a->dst, a->src_port };
	uint8_t *copy = link->copies + link->copied;

	if (a->len > MEMORY_COPIES - link->copied)
		return false;
	memcpy(copy, a->p, a->len);
	link->copied += a->len;
	if (a->no_icrc && a->len >= BTH_LEN + ICRC_LEN)
		icrc_store(copy + a->len - ICRC_LEN,
			   icrc_compute(&flow, a->ip_id, copy, a->len - ICRC_LEN));
	a->no_icrc = false;
	a->p = copy;
	a->headers = NULL;
	return true;
}

/* Returns the next packet of the peer's record. False: no space is left in this call. */
static bool take_packet(struct memory_link *link, struct memory_peer *peer, size_t index,
			struct wire_arrival *ret)
{
	const struct ring_record *record = &peer->record;
	const uint32_t len =
		peer->bytes_left < record->seg_len ? peer->bytes_left : record->seg_len;
	struct wire_arrival a = {
		.p = peer->next,
		.len = len,
		.headers = link->headers[index],
		.src_port = record->src_port,
		.ip_id = (uint16_t)(record->segs - peer->segs_left),
		.id_rule = gid_is_v4(&record->dst) ? IP_ID_RULED : IP_ID_EXACT,
		.no_icrc = record->no_icrc && link->base.omits_icrc,
		.traffic_class = record->traffic_class,
		.hop_limit = record->hop_limit,
		.flow_label = record->flow_label & 0xfffff,
		.src = record->src,
		.dst = record->dst,
	};

	assert(peer->segs_left > 0 && len > 0);
	if (link->complete) {
		if (!complete(link, &a))
			return false;
	} else {
		memcpy(link->headers[index], a.p, len < MEMORY_HEADERS ? len : MEMORY_HEADERS);
		/* Nothing reads the ring instead of the copy. */
		atomic_signal_fence(memory_order_seq_cst);
	}
	peer->next += len;
	peer->bytes_left -= len;
	peer->segs_left--;
	*ret = a;
	return true;
}

/* A member list is the sender's business: a packet for a group that this process has not joined is
 * not delivered. */
static bool is_welcome(const struct memory_link *link, const struct ring_record *record)
{
	return !gid_is_multicast(&record->dst) || memory_is_member(link->own, &record->dst);
}

static size_t take_from(struct memory_link *link, uint32_t slot, struct wire_arrival *ret, size_t n,
			size_t max)
{
	struct memory_peer *peer = link->peer[slot];

	if (!has_news(link, slot))
		return n;
	if (!peer)
		peer = memory_peer_get(link, slot);
	while (peer && n < max && memory_peer_waits(link, peer)) {
		if (peer->segs_left == 0 && !take_record(link, slot, peer))
			break;
		if (!is_welcome(link, &peer->record))
			peer->segs_left = 0;
		else if (!take_packet(link, peer, n, &ret[n]))
			break;
		else
			n++;
	}
	return n;
}

static bool something_waits(const struct memory_link *link)
{
	for (uint32_t i = 0; i < link->num_scanned; i++)
		if (has_news(link, link->scanned[i]))
			return true;
	return false;
}

void memory_wait_ended(struct link *base, bool readable)
{
	struct memory_link *link = (struct memory_link *)base;
	uint32_t waiters;

	if (readable)
		atomic_store(&link->is_readable, true);
	waiters = atomic_fetch_sub(&link->waiters, 1);

	assert(waiters > 0);
}

void memory_wake_self(struct link *base)
{
	const struct memory_link *link = (const struct memory_link *)base;

	memory_ring_doorbell(link->hub, link->cfg.slot, link->base.wait_fd);
}

static void drain(const struct memory_link *link)
{
	char byte;
	/* QEMU's user mode takes nothing for a message without a buffer. */
	struct iovec any = { &byte, sizeof(byte) };
	struct mmsghdr msg[DRAIN_BATCH];

	for (uint32_t i = 0; i < DRAIN_BATCH; i++)
		msg[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &any, .msg_iovlen = 1 } };
	while (recvmmsg(link->base.wait_fd, msg, DRAIN_BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL) ==
	       (int)DRAIN_BATCH)
		;
}

/* While a thread waits, the socket stays readable: it must wake up. The last one disarms, so that
 * senders ring no more. Waits begin under the caller's lock, so none begins here. */
static void woken(struct memory_link *link)
{
	const uint32_t armed = atomic_load_explicit(&link->own->armed, memory_order_relaxed);

	if (!(armed & MEMORY_ARMED) || atomic_load(&link->waiters) > 0)
		return;
	atomic_store_explicit(&link->own->armed, memory_next_armed(armed, 0), memory_order_relaxed);
	/* A datagram that comes later ends the next wait at once. */
	if (atomic_exchange(&link->is_readable, false) && descriptor_is_kept(link->base.wait_fd))
		drain(link);
}

/* A sender that rang the bell for an earlier sleep rings it again. It need not send another
 * datagram: the doorbell stays readable while a thread waits for it. */
static void arm(struct memory_link *link, uint32_t kind)
{
	const uint32_t armed = atomic_load_explicit(&link->own->armed, memory_order_relaxed);
	const uint32_t kinds = (armed & MEMORY_ARMED) | kind;

	atomic_fetch_add(&link->waiters, 1);
	if (kind == MEMORY_BELL || !(armed & kind))
		atomic_store_explicit(&link->own->armed, memory_next_armed(armed, kinds),
				      memory_order_relaxed);
}

static bool begin(struct memory_link *link, uint32_t kind)
{
	/* An unanswered doorbell would end the wait at once. */
	woken(link);
	release(link);
	arm(link, kind);
	/* Between the store of armed and the loads of tails: pairs with wake() in send.c. */
	atomic_thread_fence(memory_order_seq_cst);
	rescan(link);
	return something_waits(link);
}

bool memory_wait_begins(struct link *base)
{
	return begin((struct memory_link *)base, MEMORY_DOORBELL);
}

bool memory_sleep_begins(struct link *base, uint32_t *ret_rings)
{
	struct memory_link *link = (struct memory_link *)base;

	*ret_rings = atomic_load(&link->cfg.bells[link->cfg.slot].rings);
	return begin(link, MEMORY_BELL);
}

bool memory_sleep(struct link *base, uint32_t rings, uint64_t ns)
{
	const struct memory_link *link = (const struct memory_link *)base;

	return memory_bell_sleep(&link->cfg.bells[link->cfg.slot], rings, ns);
}

void memory_wake(struct link *base)
{
	const struct memory_link *link = (const struct memory_link *)base;

	memory_bell_ring(&link->cfg.bells[link->cfg.slot]);
}

int memory_receive(struct link *base, struct wire_arrival *ret, size_t max)
{
	struct memory_link *link = (struct memory_link *)base;
	size_t n = 0;

	release(link);
	link->copied = 0;
	woken(link);
	rescan(link);
	max = max < MEMORY_BATCH ? max : MEMORY_BATCH;
	/* Each call begins one slot later than the last, so that no slot waits for the others. */
	for (uint32_t i = 0; i < link->num_scanned && n < max; i++) {
		const uint32_t at = (link->first_scanned + i) % link->num_scanned;

		n = take_from(link, link->scanned[at], ret, n, max);
	}
	if (n > 0)
		link->first_scanned = (link->first_scanned + 1) % link->num_scanned;
	return (int)n;
}
