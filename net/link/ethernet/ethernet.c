/* SPDX-License-Identifier: MIT */
/* Opening and closing an Ethernet link, multicast groups, and its smaller operations. */
#include "net/link/ethernet/ethernet.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "net/link/descriptor.h"
#include "net/link/ethernet/private.h"
#include "net/link/udp/address.h"

/* FNV-1a. */
static uint32_t hash_on(uint32_t hash, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * 16777619u;
	return hash;
}

void ethernet_make_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *gid, const char *ifname)
{
	uint8_t if_mac[FRAME_MAC_LEN] = { 0 };
	uint32_t hash;

	udp_addr_if_mac(if_mac, ifname);
	hash = hash_on(hash_on(2166136261u, gid->raw, sizeof(gid->raw)), if_mac, sizeof(if_mac));
	ret[0] = 0x02;
	ret[1] = 0x52; /* R */
	for (uint32_t i = 0; i < 4; i++)
		ret[2 + i] = (uint8_t)(hash >> 8 * i);
}

uint32_t ethernet_max_mtu(const char *ifname, const struct gid *gid)
{
	const uint32_t ifindex = if_nametoindex(ifname);

	return ifindex ? frame_path_mtu(udp_addr_if_mtu(ifindex), gid) : 0;
}

/* Changes the interface's filter for a group's frames. Failure is ignored: the interface may be in
 * promiscuous mode. */
static void change_membership(const struct ethernet_link *link, const struct gid *group, int option)
{
	struct packet_mreq req = { .mr_ifindex = (int)link->ifindex,
				   .mr_type = PACKET_MR_MULTICAST,
				   .mr_alen = FRAME_MAC_LEN };

	frame_group_mac(req.mr_address, group);
	(void)setsockopt(link->cfg.tx_fd, SOL_PACKET, option, &req, sizeof(req));
}

static int ethernet_join(struct link *base, const struct gid *group)
{
	struct ethernet_link *link = (struct ethernet_link *)base;

	if (!gid_is_multicast(group) || gid_is_v4(group) != gid_is_v4(&link->self.gid))
		return -EINVAL;
	if (gid_find(link->group, link->num_groups, group) < link->num_groups)
		return 0;
	if (link->num_groups == ETHERNET_MAX_GROUPS)
		return -ENOSPC;
	link->group[link->num_groups++] = *group;
	change_membership(link, group, PACKET_ADD_MEMBERSHIP);
	return 0;
}

static int ethernet_leave(struct link *base, const struct gid *group)
{
	struct ethernet_link *link = (struct ethernet_link *)base;
	const uint32_t at = gid_find(link->group, link->num_groups, group);

	if (at == link->num_groups)
		return -ENOENT;
	change_membership(link, group, PACKET_DROP_MEMBERSHIP);
	link->group[at] = link->group[--link->num_groups];
	return 0;
}

static bool ethernet_is_local(struct link *base, const struct gid *gid)
{
	return gid_equal(gid, &((struct ethernet_link *)base)->self.gid);
}

static void ethernet_close(struct link *base)
{
	struct ethernet_link *link = (struct ethernet_link *)base;

	descriptor_close(link->timer_fd);
	descriptor_close(link->base.wait_fd);
	free(link->held_buf);
	free(link);
}

static bool ethernet_has_descriptors(const struct link *base)
{
	const struct ethernet_link *link = (const struct ethernet_link *)base;

	return descriptor_is_kept(link->cfg.rx_fd) && descriptor_is_kept(link->cfg.tx_fd) &&
	       descriptor_is_kept(link->base.wait_fd) && descriptor_is_kept(link->timer_fd);
}

static const struct link_ops ops = {
	.send = ethernet_send,
	.receive = ethernet_receive,
	.join = ethernet_join,
	.leave = ethernet_leave,
	.is_local = ethernet_is_local,
	.has_descriptors = ethernet_has_descriptors,
	.close = ethernet_close,
};

static int poll_add(struct ethernet_link *link, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = UINT64_MAX };

	return epoll_ctl(link->base.wait_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int open_parts(struct ethernet_link *link)
{
	int rc;

	link->held_buf = malloc(ETHERNET_HELD_BYTES);
	if (!link->held_buf)
		return -ENOMEM;
	link->base.wait_fd = descriptor_keep(epoll_create1(EPOLL_CLOEXEC));
	if (link->base.wait_fd < 0)
		return -errno;
	rc = ethernet_rx_init(link);
	if (rc == 0)
		rc = ethernet_timer_open(link);
	if (rc == 0)
		rc = poll_add(link, link->timer_fd);
	return rc == 0 ? poll_add(link, link->cfg.rx_fd) : rc;
}

static bool cfg_is_sound(const struct ethernet_cfg *cfg)
{
	const uint32_t bits = gid_is_v4(&cfg->gid) ? 32 : 128;

	return !gid_is_multicast(&cfg->gid) && !(cfg->mac[0] & 1) && cfg->slot < ETHERNET_SLOTS &&
	       cfg->prefix_len <= bits && strlen(cfg->ifname) < IF_NAMESIZE;
}

static void configure(struct ethernet_link *link, const struct ethernet_cfg *cfg)
{
	link->base.ops = &ops;
	link->cfg = *cfg;
	link->self.gid = cfg->gid;
	memcpy(link->self.mac, cfg->mac, FRAME_MAC_LEN);
	memcpy(link->ifname, cfg->ifname, strlen(cfg->ifname) + 1);
	link->ifindex = if_nametoindex(cfg->ifname);
	link->has_gateway =
		!gid_is_zero(&cfg->gateway) && gid_is_v4(&cfg->gateway) == gid_is_v4(&cfg->gid);
	link->base.wait_fd = link->timer_fd = -1;
	/* The link cuts trains itself, so no interface limits them. */
	link->base.max_segs = TRAIN_MAX_SEGS;
	for (uint32_t i = 0; i < LINK_TX_PORTS; i++)
		link->base.tx_port[i] =
			(uint16_t)(ETHERNET_FIRST_PORT + cfg->slot * LINK_TX_PORTS + i);
}

int ethernet_open(struct link **ret, const struct ethernet_cfg *cfg)
{
	struct ethernet_link *link;
	int rc;

	if (!cfg_is_sound(cfg))
		return -EINVAL;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	configure(link, cfg);
	rc = link->ifindex ? open_parts(link) : -ENODEV;
	if (rc != 0) {
		ethernet_close(&link->base);
		return rc;
	}
	ethernet_tx_init(link);
	if (link->cfg.answers)
		ethernet_announce(link);
	*ret = &link->base;
	return 0;
}

void ethernet_answer(struct link *base, bool answers)
{
	struct ethernet_link *link = (struct ethernet_link *)base;

	if (answers && !link->cfg.answers)
		ethernet_announce(link);
	link->cfg.answers = answers;
}
