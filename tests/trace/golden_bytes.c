/* SPDX-License-Identifier: MIT */
/* Packets compared as bytes: every field, reserved bits and padding too. */
#include "tests/trace/golden_bytes.h"

#include <string.h>

#include "net/wire/packet.h"

#define MIGREQ_AT  1u
#define MIGREQ_BIT 0x40u
#define ACKREQ_AT  8u
#define ACKREQ_BIT 0x80u

bool golden_same_bytes(const struct vector *theirs, const uint8_t *mine, size_t len)
{
	uint8_t copy[WIRE_MAX_PACKET];
	const bool asks_less =
		(theirs->p[ACKREQ_AT] & ACKREQ_BIT) && !(mine[ACKREQ_AT] & ACKREQ_BIT);

	if (len != theirs->len || asks_less || !(mine[MIGREQ_AT] & MIGREQ_BIT))
		return false;
	memcpy(copy, mine, len);
	copy[MIGREQ_AT] &= (uint8_t)~MIGREQ_BIT;
	copy[ACKREQ_AT] =
		(uint8_t)((copy[ACKREQ_AT] & ~ACKREQ_BIT) | (theirs->p[ACKREQ_AT] & ACKREQ_BIT));
	icrc_store(copy + len - ICRC_LEN,
		   icrc_compute(&theirs->flow, theirs->ip_id, copy, len - ICRC_LEN));
	return memcmp(copy, theirs->p, len) == 0;
}
