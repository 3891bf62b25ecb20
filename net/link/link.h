/* SPDX-License-Identifier: MIT */
/* A link carries the packets of a device: trains go out, arrivals come in. A link knows no queue
 * pair.
 *
 * Three links reach other processes: udp/ (sockets on port 4791), ethernet/ (raw frames) and
 * memory/ (rings in shared memory, for the processes of one device). The others are wrappers. A
 * wrapper is a link over another link, and is in the stack only while it is in use:
 *
 *   fault/       carries out fault rules: drops, delays, corrupts and answers packets
 *   capture/tap  shows packets to an observer, unchanged (a capture's ring, the packet tail)
 *   unkind/      holds arrivals back, where the user asked for an unkind device
 *
 * Fault rules act first, in both directions; a capture records what they leave. So a capture is two
 * taps, one on each side of the fault link, each for one direction:
 *
 *   engine
 *     tap, arrivals
 *     fault
 *     tap, departures
 *     unkind
 *   udp, ethernet or memory
 *
 * A link calls nothing above it except the callbacks that it was opened with. It takes no lock: the
 * caller holds one for the whole stack. */
#ifndef RXE_LINK_H
#define RXE_LINK_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "net/wire/train.h"

struct link;

/* Operations of a link. A wrapper has NULL where it changes nothing: the link below it does the
 * operation. close is that of the link itself, never of the one below. A link that reaches others
 * has NULL where it has nothing to do. */
struct link_ops {
	int (*send)(struct link *link, const struct wire_train *trains, size_t n);
	int (*receive)(struct link *link, struct wire_arrival *ret, size_t max);
	void (*idle)(struct link *link);
	void (*release)(struct link *link);
	uint64_t (*deadline)(const struct link *link);
	bool (*wait_begins)(struct link *link);
	void (*wait_ended)(struct link *link, bool readable);
	bool (*sleep_begins)(struct link *link, uint32_t *ret_rings);
	bool (*sleep)(struct link *link, uint32_t rings, uint64_t ns);
	void (*wake)(struct link *link);
	uint8_t *(*space)(struct link *link, const struct gid *dst, uint32_t slot);
	int (*join)(struct link *link, const struct gid *group);
	int (*leave)(struct link *link, const struct gid *group);
	bool (*is_local)(struct link *link, const struct gid *gid);
	void (*show_headers)(const struct link *link);
	int (*complete_arrivals)(struct link *link, bool on);
	bool (*has_descriptors)(const struct link *link);
	void (*close)(struct link *link);
};

/* Counts of one link since it was opened. */
struct link_stats {
	uint64_t send_errors; /* packets dropped because they can never be sent */
	uint64_t bad_frames;  /* frames to this address that are malformed RoCEv2 */
};

#define LINK_TX_PORTS 4u

/* The first member of every link. */
struct link {
	const struct link_ops *ops;
	struct link *below; /* the link that a wrapper is over; NULL for one that reaches others */
	struct link_stats stats;

	/* The wait descriptor of a link that reaches others. */
	_Atomic int wait_fd;
	uint16_t max_segs;
	bool omits_icrc;
	uint16_t tx_port[LINK_TX_PORTS];
};

/* The first link from the top that has the operation. */
#define LINK_WITH(link, op)                                                                        \
	({                                                                                         \
		__typeof__(link) with_ = (link);                                                   \
		while (!with_->ops->op) {                                                          \
			assert(with_->below);                                                      \
			with_ = with_->below;                                                      \
		}                                                                                  \
		with_;                                                                             \
	})

/* The link that reaches others, under the wrappers. */
static inline const struct link *link_bottom(const struct link *link)
{
	while (link->below)
		link = link->below;
	return link;
}

/* Hands trains to the link, in order. Returns how many it took: fewer than n when it is full,
 * -EAGAIN when it takes none. A train that can never be sent is dropped, counted in send_errors,
 * and counts as taken: the transport recovers. */
static inline int link_send(struct link *link, const struct wire_train *trains, size_t n)
{
	struct link *with = LINK_WITH(link, send);

	return with->ops->send(with, trains, n);
}

/* Gets up to max arrivals, whose bytes are valid until the next call. Returns how many, or -errno.
 * Never blocks. */
static inline int link_receive(struct link *link, struct wire_arrival *ret, size_t max)
{
	struct link *with = LINK_WITH(link, receive);

	return with->ops->receive(with, ret, max);
}

/* In place of link_receive(), of this link alone: the caller knows that nothing waits. */
static inline void link_idle(struct link *link)
{
	if (link->ops->idle)
		link->ops->idle(link);
}

/* The caller has handled all arrivals of this link: senders may use their space again. Without this
 * call they wait until the next link_receive(). */
static inline void link_release(struct link *link)
{
	if (link->ops->release)
		link->ops->release(link);
}

/* The earliest time at which a packet that a link holds back is due, CLOCK_MONOTONIC; UINT64_MAX:
 * none. A link that makes its wait descriptor readable by itself has no deadline. */
static inline uint64_t link_deadline(const struct link *link)
{
	uint64_t first_ns = UINT64_MAX;

	for (; link; link = link->below) {
		const uint64_t ns = link->ops->deadline ? link->ops->deadline(link) : UINT64_MAX;

		first_ns = ns < first_ns ? ns : first_ns;
	}
	return first_ns;
}

/* A descriptor for poll and epoll. It is readable when link_receive has work, which may yield no
 * arrival; of a link with wait_begins only between link_wait_begins() and link_wait_ended(). The
 * first link_join() may give the link another one. */
static inline int link_wait_fd(const struct link *link)
{
	return link_bottom(link)->wait_fd;
}

/* A thread is about to wait on the wait descriptor of this link. True: it must not, link_receive
 * has work already. Each call is followed by one of link_wait_ended(). A link that reaches a
 * network needs neither. */
static inline bool link_wait_begins(struct link *link)
{
	return link->ops->wait_begins && link->ops->wait_begins(link);
}

/* False: link_wait_begins() does nothing, and needs no lock. */
static inline bool link_has_waits(const struct link *link)
{
	return link->ops->wait_begins != NULL;
}

/* The thread waits no more, or did not wait. readable: the wait descriptor was found readable.
 * Needs no lock. */
static inline void link_wait_ended(struct link *link, bool readable)
{
	if (link->ops->wait_ended)
		link->ops->wait_ended(link, readable);
}

/* Whether a thread can sleep until this link has work, without the wait descriptor. */
static inline bool link_can_sleep(const struct link *link)
{
	return link->ops->sleep != NULL;
}

/* As link_wait_begins(), for a thread that calls link_sleep() with *ret_rings next, and then
 * link_wait_ended(). */
static inline bool link_sleep_begins(struct link *link, uint32_t *ret_rings)
{
	return link->ops->sleep_begins(link, ret_rings);
}

/* Sleeps until link_receive has work, or link_wake() was called since link_sleep_begins(): for ns
 * at most. False: the time is over. Needs no lock. */
static inline bool link_sleep(struct link *link, uint32_t rings, uint64_t ns)
{
	return link->ops->sleep(link, rings, ns);
}

/* Wakes the threads that sleep. Needs no lock. */
static inline void link_wake(struct link *link)
{
	if (link->ops->wake)
		link->ops->wake(link);
}

/* Where this link wants the next train to that slot of an address to be built, TRAIN_MAX_BYTES
 * long: what link_send() then does not copy. Valid until the next call of link_send(). NULL:
 * anywhere. */
static inline uint8_t *link_space(struct link *link, const struct gid *dst, uint32_t slot)
{
	return link->ops->space ? link->ops->space(link, dst, slot) : NULL;
}

static inline bool link_has_space(const struct link *link)
{
	return link->ops->space != NULL;
}

/* UDP source ports, indexed by wire_train.tx_index; the ICRC covers them. Returns how many, at most
 * max. */
static inline uint32_t link_tx_ports(const struct link *link, uint16_t *ret, uint32_t max)
{
	const uint32_t n = max < LINK_TX_PORTS ? max : LINK_TX_PORTS;

	memcpy(ret, link_bottom(link)->tx_port, n * sizeof(*ret));
	return n;
}

/* Largest number of packets in a train. Falls to 1 when the interface refuses a train, so ask for
 * each train. */
static inline uint16_t link_max_segs(const struct link *link)
{
	return link_bottom(link)->max_segs;
}

/* Joins or leaves a multicast group; a second join changes nothing. 0, -EINVAL (not a group, or the
 * other address family), -EOPNOTSUPP (the interface carries no such groups), -ENOENT (leave: not
 * joined), -ENOSPC or -errno. */
static inline int link_join(struct link *link, const struct gid *group)
{
	struct link *with = LINK_WITH(link, join);

	return with->ops->join(with, group);
}

static inline int link_leave(struct link *link, const struct gid *group)
{
	struct link *with = LINK_WITH(link, leave);

	return with->ops->leave(with, group);
}

/* Whether packets to that address stay on this host. */
static inline bool link_is_local(struct link *link, const struct gid *gid)
{
	struct link *with = LINK_WITH(link, is_local);

	return with->ops->is_local(with, gid);
}

/* Makes all later arrivals carry traffic class, hop limit and flow label. Before this call a link
 * may report 0, 64 and 0. */
static inline void link_show_headers(const struct link *link)
{
	const struct link *bottom = link_bottom(link);

	if (bottom->ops->show_headers)
		bottom->ops->show_headers(bottom);
}

/* Whether trains need their ICRCs: this link carries packets where bits may change. */
static inline bool link_needs_icrc(const struct link *link)
{
	return !link->omits_icrc;
}

/* Makes all later arrivals of this link complete, or ends that: no other process can change their
 * bytes, and their ICRCs are filled in. Wrappers that show or change packets need it. 0 or
 * -ENOMEM. */
static inline int link_complete_arrivals(struct link *link, bool on)
{
	return link->ops->complete_arrivals ? link->ops->complete_arrivals(link, on) : 0;
}

/* False when the program closed a descriptor of the link (net/link/descriptor.h) or one that the
 * link was opened with. One system call for each descriptor. */
static inline bool link_has_descriptors(const struct link *link)
{
	const struct link *with = LINK_WITH(link, has_descriptors);

	return with->ops->has_descriptors(with);
}

/* Closes this link, not the links below it. NULL is allowed. */
static inline void link_close(struct link *link)
{
	if (link)
		link->ops->close(link);
}

#endif
