/* SPDX-License-Identifier: MIT */
/* Splits a train that the local kernel has not cut: several packets behind one UDP header. Pure:
 * bytes in, sizes out. */
#ifndef RXE_LINK_ETHERNET_SPLIT_H
#define RXE_LINK_ETHERNET_SPLIT_H

#include <stdint.h>

#include "net/wire/icrc.h"

struct ethernet_split {
	uint32_t seg_len; /* bytes of every packet but the last, which may be shorter */
	uint16_t id_step; /* packet i has the frame's identification plus i times this */
};

#define ETHERNET_SPLIT_TRIES 64u

/* p, len: what follows the UDP header. gso_size is the packet size from the kernel; 0: unknown, and
 * found by the ICRC of the first packet, with at most ETHERNET_SPLIT_TRIES tries. Malformed bytes
 * count as one packet, which the engine counts and drops. */
struct ethernet_split ethernet_split(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p,
				     uint32_t len, uint32_t gso_size);

#endif
