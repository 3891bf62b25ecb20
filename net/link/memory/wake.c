// SPDX-License-Identifier: MIT
/* Who sleeps, and how a sender wakes a receiver: by a datagram to the socket that it waits on. A
 * process that waits for nothing gets none. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net/link/descriptor.h"
#include "net/link/memory/private.h"

#define DRAIN_BATCH 16u

/* A doorbell that is full is readable already. */
void memory_ring_doorbell(const struct memory_hub_page *hub, uint32_t slot, int from_fd)
{
	const struct memory_doorbell *to = &hub->doorbell[slot];
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const uint32_t len = to->len < sizeof(to->name) ? to->len : sizeof(to->name);
	const uint64_t cookie = hub->cookie;

	/* A program that closed the descriptor may have one of its own at the number. */
	if (len == 0 || !descriptor_is_kept(from_fd))
		return;
	memcpy(addr.sun_path + 1, to->name, len);
	/* QEMU's user mode makes a name longer that a 0 follows, and finds no such socket. */
	addr.sun_path[1 + len] = '.';
	(void)sendto(from_fd, &cookie, sizeof(cookie), MSG_DONTWAIT | MSG_NOSIGNAL,
		     (const struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

void memory_wake(struct memory_link *link, struct memory_peer *peer, uint32_t slot)
{
	uint32_t armed;

	/* Between the store of tail and the load of armed: pairs with memory_wait_begins(). */
	atomic_thread_fence(memory_order_seq_cst);
	armed = atomic_load_explicit(&peer->file->armed, memory_order_relaxed);
	if (!(armed & 1) || armed == peer->rung)
		return;
	peer->rung = armed;
	memory_ring_doorbell(link->hub, slot, link->base.wait_fd);
}

static bool something_waits(const struct memory_link *link)
{
	for (uint32_t i = 0; i < link->num_scanned; i++)
		if (memory_has_news(link, link->scanned[i]))
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

	memory_ring_doorbell(link->hub, link->slot, link->base.wait_fd);
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
void memory_woken(struct memory_link *link)
{
	const uint32_t armed = atomic_load_explicit(&link->own->armed, memory_order_relaxed);

	if (!(armed & 1) || atomic_load(&link->waiters) > 0)
		return;
	atomic_store_explicit(&link->own->armed, armed + 1, memory_order_relaxed);
	/* A datagram that comes later ends the next wait at once. */
	if (atomic_exchange(&link->is_readable, false) && descriptor_is_kept(link->base.wait_fd))
		drain(link);
}

bool memory_wait_begins(struct link *base)
{
	struct memory_link *link = (struct memory_link *)base;
	uint32_t armed;

	/* A doorbell that nobody has answered would end the wait at once. */
	memory_woken(link);
	memory_release(link);
	armed = atomic_load_explicit(&link->own->armed, memory_order_relaxed);
	atomic_fetch_add(&link->waiters, 1);
	if (!(armed & 1))
		atomic_store_explicit(&link->own->armed, armed + 1, memory_order_relaxed);
	/* Between the store of armed and the loads of tails: pairs with memory_wake(). */
	atomic_thread_fence(memory_order_seq_cst);
	memory_rescan(link);
	return something_waits(link);
}
