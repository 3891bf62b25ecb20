// SPDX-License-Identifier: MIT
/* The GID table, and the Ethernet address of a GID. An entry is empty, or the RoCEv2 GID of an
 * address of the device's sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ether.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "emu/limits.h"
#include "emu/queue.h"
#include "lib/abi/newer.h"
#include "lib/abi/private.h"
#include "lib/control/cancel.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/ah.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"

/* Results of ibv_query_gid_type(): v1 or InfiniBand, v2. */
enum gid_type_sysfs {
	GID_TYPE_V1,
	GID_TYPE_V2,
};

/* Reads an entry. False: no live context, or no such entry. */
static bool slot(struct ibv_context *context, uint32_t port, uint64_t index, struct gid *ret)
{
	if (vb_refuses_context(context) || refuse_if(port != VB_PORT, WHY_BAD_PORT, port) ||
	    refuse_if(index >= RXE_MAX_GIDS, WHY_SGID_INDEX, (uint32_t)index, RXE_MAX_GIDS))
		return false;
	*ret = device_link_gid(&vb_device(context)->progress, (uint32_t)index);
	return true;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *ret)
{
	struct gid gid;

	if (refuse_if(!ret, WHY_NULL, "gid") || !slot(context, port, (uint32_t)index, &gid))
		return vb_minus_one(refusal_noted());
	if (vb_verb_fails(context, query_gid))
		return vb_minus_one(errno);
	memcpy(ret->raw, gid.raw, sizeof(ret->raw));
	return 0;
}

int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       unsigned int *type)
{
	struct gid gid;

	if (refuse_if(!type, WHY_NULL, "type") || !slot(context, port, index, &gid))
		return vb_minus_one(refusal_noted());
	if (vb_verb_fails(context, query_gid_type))
		return vb_minus_one(errno);
	*type = gid_is_zero(&gid) ? GID_TYPE_V1 : GID_TYPE_V2;
	return 0;
}

/* A program's entry may be shorter or longer; all versions have the first members in common. */
static void entry_write(void *at, size_t size, struct ibv_context *context, uint32_t index,
			const struct gid *gid)
{
	const struct vb_device *dev = vb_device(context);
	struct ibv_gid_entry entry = {
		.gid_index = index,
		.port_num = VB_PORT,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = dev->info.if_index,
	};

	memcpy(entry.gid.raw, gid->raw, sizeof(entry.gid.raw));
	memset(at, 0, size);
	memcpy(at, &entry, size < sizeof(entry) ? size : sizeof(entry));
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct gid gid;

	if (refuse_if(!entry, WHY_NULL, "entry") ||
	    refuse_if(entry_size < sizeof(union ibv_gid), WHY_SMALL_STRUCT, "struct ibv_gid_entry",
		      entry_size, sizeof(union ibv_gid)) ||
	    !slot(context, port, index, &gid))
		return vb_result(refusal_noted());
	if (flags)
		return vb_result(refuse(WHY_BITS_REFUSED, "flags", (uint64_t)flags));
	if (vb_verb_fails(context, query_gid_ex))
		return vb_result(errno);
	if (gid_is_zero(&gid))
		return vb_result(refuse(WHY_GID_EMPTY, index));
	entry_write(entry, entry_size, context, index, &gid);
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	size_t n = 0;

	if (vb_refuses_context(context) ||
	    refuse_if(!entries && max_entries, WHY_NULL, "entries") ||
	    refuse_if(entry_size < sizeof(union ibv_gid), WHY_SMALL_STRUCT, "struct ibv_gid_entry",
		      entry_size, sizeof(union ibv_gid)))
		return -vb_result(refusal_noted());
	if (flags)
		return -vb_result(refuse(WHY_BITS_REFUSED, "flags", (uint64_t)flags));
	if (vb_verb_fails(context, query_gid_table))
		return -vb_result(errno);
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		const struct gid gid = device_link_gid(&vb_device(context)->progress, i);

		if (gid_is_zero(&gid))
			continue;
		if (n == max_entries)
			return -vb_result(refuse(WHY_GID_SPACE, max_entries));
		entry_write((uint8_t *)entries + n++ * entry_size, entry_size, context, i, &gid);
	}
	return (ssize_t)n;
}

/* RFC 1112 and RFC 2464: a fixed prefix, then the last 23 or 32 bits of the group's address. */
static void multicast_mac(const struct gid *gid, uint8_t ret[ETHERNET_LL_SIZE])
{
	if (gid_is_v4(gid)) {
		const uint8_t mac[] = { 0x01,	      0x00,	   0x5e, gid->raw[13] & 0x7f,
					gid->raw[14], gid->raw[15] };

		memcpy(ret, mac, sizeof(mac));
	} else {
		ret[0] = 0x33;
		ret[1] = 0x33;
		memcpy(ret + 2, gid->raw + 12, 4);
	}
}

static bool neighbor_mac(const struct gid *gid, uint8_t ret[ETHERNET_LL_SIZE])
{
	char line[256], ip[64], mac[32], want[INET_ADDRSTRLEN];
	struct ether_addr parsed;
	bool found = false;
	FILE *f;
	NO_CANCEL;

	if (!gid_is_v4(gid) || !inet_ntop(AF_INET, gid->raw + 12, want, sizeof(want)))
		return false;
	f = fopen("/proc/net/arp", "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %*s %*s %31s", ip, mac) == 2 && strcmp(ip, want) == 0)
			found = ether_aton_r(mac, &parsed) != NULL;
	}
	fclose(f);
	if (found)
		memcpy(ret, parsed.ether_addr_octet, ETHERNET_LL_SIZE);
	return found;
}

static bool is_own(const struct vb_device *dev, const struct gid *gid)
{
	for (int i = 0; i < RXE_MAX_GIDS; i++) {
		if (gid_equal(&dev->info.gids[i], gid))
			return true;
	}
	return gid_is_v4(gid) && gid->raw[12] == 127;
}

/* ibv_resolve_eth_l2_from_gid(3). This device never needs the address. */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	struct rxe_av av;
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(!eth_mac, WHY_NULL, "eth_mac"))
		return vb_result(refusal_noted());
	err = vb_av_from_attr(vb_device(context), attr, &av);
	if (err)
		return vb_result(err);

	if (gid_is_multicast(&av.dgid))
		multicast_mac(&av.dgid, eth_mac);
	else if (is_own(vb_device(context), &av.dgid))
		memset(eth_mac, 0, ETHERNET_LL_SIZE); /* the address of lo */
	else if (!neighbor_mac(&av.dgid, eth_mac))
		return vb_result(refuse(WHY_NO_NEIGHBOR));
	if (vid)
		*vid = 0xffff; /* no VLAN */
	return 0;
}
