/* SPDX-License-Identifier: MIT */
/* A veth link: what it is made of, and what it says of itself.
 *
 * Everything runs under the engine's lock: nothing here is called by two threads at once. */
#include "net/link/ethernet/ethernet.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net/link/ethernet/private.h"
#include "net/link/udp/address.h"

void veth_complain(struct link_veth *link, enum veth_complaint what, const char *line)
{
	if (link->complained & what)
		return;
	link->complained |= what;
	if (link->log)
		link->log(link->log_arg, line);
}

static int poll_add(struct link_veth *link, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = UINT64_MAX };

	return epoll_ctl(link->poll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int open_parts(struct link_veth *link)
{
	int rc;

	for (uint32_t i = 0; i < VETH_MAX_HELD; i++) {
		link->held[i].train.buf = malloc(TRAIN_MAX_BYTES);
		if (!link->held[i].train.buf)
			return -ENOMEM;
	}
	link->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (link->poll_fd < 0)
		return -errno;
	rc = veth_timer_open(link);
	if (rc == 0)
		rc = poll_add(link, link->timer_fd);
	return rc == 0 ? poll_add(link, link->port->rx_fd) : rc;
}

static bool cfg_is_sound(const struct link_veth_cfg *cfg)
{
	const uint32_t bits = gid_is_v4(&cfg->gid) ? 32 : 128;

	return !gid_is_multicast(&cfg->gid) && !(cfg->mac[0] & 1) && cfg->slot < LINK_VETH_SLOTS &&
	       cfg->prefix_len <= bits && strlen(cfg->ifname) < IF_NAMESIZE;
}

static void configure(struct link_veth *link, const struct link_veth_cfg *cfg)
{
	static const struct gid none = { { 0 } };

	link->self.gid = cfg->gid;
	memcpy(link->self.mac, cfg->mac, FRAME_MAC_LEN);
	memcpy(link->ifname, cfg->ifname, strlen(cfg->ifname) + 1);
	link->ifindex = if_nametoindex(cfg->ifname);
	link->prefix_len = cfg->prefix_len;
	link->gateway = cfg->gateway;
	link->has_gateway = !gid_equal(&cfg->gateway, &none);
	link->answers = cfg->answers;
	link->port = cfg->port;
	link->log = cfg->log;
	link->log_arg = cfg->log_arg;
	link->poll_fd = link->timer_fd = -1;
	for (uint32_t i = 0; i < LINK_VETH_TX_PORTS; i++)
		link->tx_port[i] = (uint16_t)(VETH_FIRST_PORT + cfg->slot * LINK_VETH_TX_PORTS + i);
}

int link_veth_open(struct link_veth **ret, const struct link_veth_cfg *cfg)
{
	struct link_veth *link;
	int rc;

	if (!cfg_is_sound(cfg))
		return -EINVAL;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	configure(link, cfg);
	rc = link->ifindex ? open_parts(link) : -ENODEV;
	if (rc != 0) {
		link->port = NULL; /* still the caller's */
		link_veth_close(link);
		return rc;
	}
	veth_tx_init(link);
	if (link->answers)
		veth_announce(link);
	*ret = link;
	return 0;
}

void link_veth_answer(struct link_veth *link, bool answers)
{
	if (answers && !link->answers)
		veth_announce(link);
	link->answers = answers;
}

void link_veth_close(struct link_veth *link)
{
	if (!link)
		return;
	if (link->timer_fd >= 0)
		(void)close(link->timer_fd);
	if (link->poll_fd >= 0)
		(void)close(link->poll_fd);
	if (link->port)
		link->port->close(link->port);
	for (uint32_t i = 0; i < VETH_MAX_HELD; i++)
		free(link->held[i].train.buf);
	free(link);
}

static uint32_t hash_on(uint32_t hash, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * 16777619u;
	return hash;
}

void link_veth_make_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *gid,
			const char *ifname)
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

uint32_t link_veth_max_mtu(const char *ifname, const struct gid *gid)
{
	const uint32_t ifindex = if_nametoindex(ifname);

	return ifindex ? frame_path_mtu(udp_addr_if_mtu(ifindex), gid) : 0;
}

bool link_veth_is_self(const struct link_veth *link, const struct gid *gid)
{
	return gid_equal(gid, &link->self.gid);
}

uint32_t link_veth_tx_ports(const struct link_veth *link, uint16_t *ret, uint32_t max)
{
	const uint32_t n = max < LINK_VETH_TX_PORTS ? max : LINK_VETH_TX_PORTS;

	memcpy(ret, link->tx_port, n * sizeof(*ret));
	return n;
}

uint16_t link_veth_max_segs(const struct link_veth *link)
{
	(void)link; /* cut here, so nothing stands in the way of any */
	return TRAIN_MAX_SEGS;
}

uint64_t link_veth_send_errors(const struct link_veth *link)
{
	return link->send_errors;
}

uint64_t link_veth_recv_drops(const struct link_veth *link)
{
	return link->port->drops(link->port);
}

uint64_t link_veth_bad_frames(const struct link_veth *link)
{
	return link->bad_frames;
}

int link_veth_poll_fd(const struct link_veth *link)
{
	return link->poll_fd;
}

const struct veth_group *veth_find_group(const struct link_veth *link, const struct gid *gid)
{
	for (uint32_t i = 0; i < link->num_groups; i++)
		if (gid_equal(&link->group[i].gid, gid))
			return &link->group[i];
	return NULL;
}

/* Tell the interface to let a group's frames in. One that lets in everything need not know, so failing is no matter. */
static void change_membership(const struct link_veth *link, const struct gid *group, int option)
{
	struct packet_mreq req = { .mr_ifindex = (int)link->ifindex,
				   .mr_type = PACKET_MR_MULTICAST,
				   .mr_alen = FRAME_MAC_LEN };

	frame_group_mac(req.mr_address, group);
	(void)setsockopt(link->port->tx_fd, SOL_PACKET, option, &req, sizeof(req));
}

int link_veth_join(struct link_veth *link, const struct gid *group)
{
	const struct veth_group *known = veth_find_group(link, group);

	if (!gid_is_multicast(group) || gid_is_v4(group) != gid_is_v4(&link->self.gid))
		return -EINVAL;
	if (known) {
		link->group[known - link->group].joins++;
		return 0;
	}
	if (link->num_groups == VETH_MAX_GROUPS)
		return -ENOSPC;
	link->group[link->num_groups++] = (struct veth_group){ .gid = *group, .joins = 1 };
	change_membership(link, group, PACKET_ADD_MEMBERSHIP);
	return 0;
}

int link_veth_leave(struct link_veth *link, const struct gid *group)
{
	const struct veth_group *known = veth_find_group(link, group);
	struct veth_group *own;

	if (!known)
		return -ENOENT;
	own = &link->group[known - link->group];
	if (--own->joins > 0)
		return 0;
	change_membership(link, group, PACKET_DROP_MEMBERSHIP);
	*own = link->group[--link->num_groups];
	return 0;
}
