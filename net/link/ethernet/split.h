/* SPDX-License-Identifier: MIT */
/* A frame of the local kernel may hold a train that nobody has cut yet: many packets behind one UDP header. Where do they end?
 * Pure: bytes in, sizes out. */
#ifndef RXE_LINK_ETHERNET_SPLIT_H
#define RXE_LINK_ETHERNET_SPLIT_H

#include <stdint.h>

#include "net/wire/icrc.h"

struct ethernet_split {
	uint32_t seg_len; /* bytes of every packet but the last, which may be shorter */
	uint16_t id_step; /* packet i bears the frame's identification plus i times this */
};

/* p, len: what follows the UDP header. gso_size is what the kernel said of it, or 0 when it said nothing: then the ICRC of the first
 * packet decides, with at most ETHERNET_SPLIT_TRIES sizes tried. What makes no sense comes back as one packet, for the engine to
 * count and drop. */
#define ETHERNET_SPLIT_TRIES 64u
struct ethernet_split ethernet_split(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p,
				     uint32_t len, uint32_t gso_size);

#endif
