// SPDX-License-Identifier: MIT
/* The Ethernet address of a GID (ibv_resolve_eth_l2_from_gid(3)), which this device never needs. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "emu/limits.h"
#include "emu/queue.h"
#include "lib/abi/newer.h"
#include "lib/control/cancel.h"
#include "lib/verbs/ah.h"
#include "lib/verbs/context.h"
#include "lib/verbs/error.h"

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
	unsigned int b[ETHERNET_LL_SIZE];
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
			found = sscanf(mac, "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4],
				       &b[5]) == ETHERNET_LL_SIZE;
	}
	fclose(f);
	for (int i = 0; found && i < ETHERNET_LL_SIZE; i++)
		ret[i] = (uint8_t)b[i];
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

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	struct rxe_av av;
	int err;

	if (!vb_is_context(context) || !attr || !eth_mac)
		return vb_result(EINVAL);
	err = vb_av_from_attr(vb_device(context), attr, &av);
	if (err)
		return vb_result(err);

	if (gid_is_multicast(&av.dgid))
		multicast_mac(&av.dgid, eth_mac);
	else if (is_own(vb_device(context), &av.dgid))
		memset(eth_mac, 0, ETHERNET_LL_SIZE); /* the address of lo */
	else if (!neighbor_mac(&av.dgid, eth_mac))
		return vb_result(EHOSTUNREACH);
	if (vid)
		*vid = 0xffff; /* no VLAN */
	return 0;
}
