/* SPDX-License-Identifier: MIT */
/* Path MTUs: the verbs number them, the engine counts bytes. */
#ifndef RXE_VERBS_MTU_H
#define RXE_VERBS_MTU_H

#include <stdint.h>

#include "lib/abi/newer.h"

/* 0: not an MTU. */
static inline uint32_t vb_mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}

/* The largest MTU of at most this many bytes; IBV_MTU_256 if all are larger. */
static inline enum ibv_mtu vb_mtu_enum(uint32_t bytes)
{
	int mtu = IBV_MTU_4096;

	while (mtu > IBV_MTU_256 && 128u << mtu > bytes)
		mtu--;
	return (enum ibv_mtu)mtu;
}

#endif
