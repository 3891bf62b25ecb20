/* SPDX-License-Identifier: MIT */
/* Where a header lies in struct raw_level, for tests of rules: not by the table of the rules. */
#ifndef RXE_TEST_RAW_LEVEL_H
#define RXE_TEST_RAW_LEVEL_H

#include <stdint.h>
#include <stdlib.h>

#include "emu/raw/frame.h"

static inline const uint8_t *raw_level_bytes(const struct raw_level *level, enum raw_header header)
{
	switch (header) {
	case RAW_ETH: return (const uint8_t *)&level->eth;
	case RAW_IPV4: return (const uint8_t *)&level->ipv4;
	case RAW_IPV6: return (const uint8_t *)&level->ipv6;
	case RAW_TCP:
	case RAW_UDP: return (const uint8_t *)&level->ports;
	case RAW_ESP: return (const uint8_t *)&level->esp;
	case RAW_VXLAN: return level->vxlan;
	case RAW_GRE: return (const uint8_t *)&level->gre;
	case RAW_MPLS: return level->mpls;
	case RAW_HEADERS: break;
	}
	abort();
}

#endif
