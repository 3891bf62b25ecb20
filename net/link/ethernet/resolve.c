/* SPDX-License-Identifier: MIT */
/* Address resolution: solicits neighbors' MACs, answers for the device's own, and sends or drops
 * held trains. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "net/link/ethernet/private.h"

int ethernet_timer_open(struct ethernet_link *link)
{
	link->timer_ns = UINT64_MAX;
	link->timer_fd =
		descriptor_keep(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	return link->timer_fd >= 0 ? 0 : -errno;
}

/* Makes the link's wait descriptor readable when a solicitation is due. */
static void set_timer(struct ethernet_link *link)
{
	const uint64_t due_ns = neighbor_table_deadline(&link->neighbors);
	struct itimerspec at = { 0 };

	if (due_ns == link->timer_ns)
		return;
	if (due_ns != UINT64_MAX) {
		at.it_value.tv_sec = (time_t)(due_ns / 1000000000u);
		at.it_value.tv_nsec = (long)(due_ns % 1000000000u);
	}
	(void)timerfd_settime(link->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
	link->timer_ns = due_ns;
}

static bool same_network(const struct gid *a, const struct gid *b, uint32_t prefix_len)
{
	const uint32_t bits = gid_is_v4(a) ? 96 + prefix_len : prefix_len;
	const uint8_t mask = (uint8_t)(0xff00u >> bits % 8);

	if (memcmp(a->raw, b->raw, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || ((a->raw[bits / 8] ^ b->raw[bits / 8]) & mask) == 0;
}

static bool is_link_local(const struct gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

static bool is_on_link(const struct ethernet_link *link, const struct gid *gid)
{
	return gid_is_v4(gid) == gid_is_v4(&link->self.gid) &&
	       (link->cfg.prefix_len == 0 || is_link_local(gid) ||
		same_network(gid, &link->self.gid, link->cfg.prefix_len));
}

const struct gid *ethernet_next_hop(const struct ethernet_link *link, const struct gid *dst)
{
	if (is_on_link(link, dst))
		return dst;
	return link->has_gateway ? &link->cfg.gateway : NULL;
}

static void send_frame(const struct ethernet_link *link, const uint8_t *p, size_t len)
{
	/* Errors are ignored: a lost solicitation is retransmitted by its sender. */
	(void)!send(link->cfg.tx_fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void solicit(const struct ethernet_link *link, const struct gid *target, const uint8_t *mac)
{
	uint8_t p[NEIGHBOR_FRAME_MAX];

	send_frame(link, p, neighbor_emit_solicitation(p, &link->self, target, mac));
}

const uint8_t *ethernet_resolve(struct ethernet_link *link, const struct gid *next_hop)
{
	bool solicits;
	const uint8_t *mac =
		neighbor_table_find(&link->neighbors, next_hop, clock_now_ns(), &solicits);

	if (solicits) {
		solicit(link, next_hop, mac);
		set_timer(link);
	}
	return mac;
}

int ethernet_neighbor(struct link *base, const struct gid *dst, bool solicits)
{
	struct ethernet_link *link = (struct ethernet_link *)base;
	const struct gid *next_hop;

	if (gid_is_multicast(dst) || gid_equal(dst, &link->self.gid))
		return 1;
	ethernet_neighbors_due(link);
	next_hop = ethernet_next_hop(link, dst);
	if (!next_hop)
		return -ENETUNREACH;
	if (solicits)
		return ethernet_resolve(link, next_hop) != NULL;
	switch (neighbor_table_state(&link->neighbors, next_hop)) {
	case NEIGHBOR_FREE: return -EHOSTUNREACH;
	case NEIGHBOR_INCOMPLETE: return 0;
	case NEIGHBOR_REACHABLE:
	case NEIGHBOR_PROBE: return 1;
	}
	return -EHOSTUNREACH;
}

void ethernet_announce(struct ethernet_link *link)
{
	uint8_t p[NEIGHBOR_FRAME_MAX];

	send_frame(link, p, neighbor_emit_announcement(p, &link->self));
}

static void warn_conflict(struct ethernet_link *link, const uint8_t *mac)
{
	link_warn(&link->cfg.log, LINK_ADDRESS_CONFLICT,
		  "%02x:%02x:%02x:%02x:%02x:%02x on %s has our address too: give the device an "
		  "address that is free",
		  mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], link->ifname);
}

static void learn(struct ethernet_link *link, const struct gid *gid, const uint8_t *mac,
		  enum neighbor_source source, uint64_t now_ns)
{
	/* The timer may now expire too early, which costs one wake-up. */
	if (neighbor_table_learn(&link->neighbors, gid, mac, source, now_ns))
		ethernet_release_held(link, gid, mac);
}

void ethernet_neighbor_heard(struct ethernet_link *link, const uint8_t *p, uint32_t len,
			     uint64_t now_ns)
{
	struct neighbor_message message;
	const enum neighbor_kind kind = neighbor_parse(&message, p, len);
	uint8_t answer[NEIGHBOR_FRAME_MAX];
	bool is_for_us;

	/* Packet sockets also receive the device's own frames. */
	if (kind == NEIGHBOR_OTHER || memcmp(message.mac, link->self.mac, FRAME_MAC_LEN) == 0)
		return;
	if (message.has_sender && gid_equal(&message.sender, &link->self.gid)) {
		warn_conflict(link, message.mac);
		return;
	}
	is_for_us = kind == NEIGHBOR_SOLICITATION && gid_equal(&message.target, &link->self.gid);
	if (message.has_sender && is_on_link(link, &message.sender))
		learn(link, &message.sender, message.mac,
		      is_for_us ? SOURCE_SOLICITATION : SOURCE_ADVERTISEMENT, now_ns);
	if (is_for_us && link->cfg.answers)
		send_frame(link, answer,
			   neighbor_emit_advertisement(answer, &link->self, &message));
}

void ethernet_datagram_heard(struct ethernet_link *link, const struct frame *frame, uint64_t now_ns)
{
	if (gid_equal(&frame->src, &link->self.gid) || (frame->src_mac[0] & 1) ||
	    gid_is_multicast(&frame->src) || !is_on_link(link, &frame->src))
		return;
	learn(link, &frame->src, frame->src_mac, SOURCE_DATAGRAM, now_ns);
}

static void give_up(struct ethernet_link *link, const struct gid *gid)
{
	char address[INET6_ADDRSTRLEN] = "?";
	const bool v4 = gid_is_v4(gid);

	(void)inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid->raw + 12 : gid->raw, address,
			sizeof(address));
	ethernet_release_held(link, gid, NULL);
	link_warn(&link->cfg.log, LINK_NO_ANSWER,
		  "nobody on %s answers for %s: packets to it are dropped; is it up, and in the "
		  "same network?",
		  link->ifname, address);
}

void ethernet_neighbors_due(struct ethernet_link *link)
{
	const uint8_t *mac;
	uint64_t expired;
	struct gid gid;

	if (link->timer_ns == UINT64_MAX || clock_now_ns() < link->timer_ns)
		return;
	(void)!read(link->timer_fd, &expired, sizeof(expired));
	for (;;) {
		switch (neighbor_table_due(&link->neighbors, clock_now_ns(), &gid, &mac)) {
		case NEIGHBOR_RETRANSMIT: solicit(link, &gid, mac); continue;
		case NEIGHBOR_UNREACHABLE: give_up(link, &gid); continue;
		case NEIGHBOR_NOTHING: break;
		}
		break;
	}
	/* A neighbor's entry may have been replaced: its trains would be held forever. */
	while (link->neighbors.waiting == 0 && link->num_held > 0) {
		gid = link->held[0].next_hop;
		ethernet_release_held(link, &gid, NULL);
	}
	/* The timer has expired. */
	link->timer_ns = UINT64_MAX;
	set_timer(link);
}
