/* SPDX-License-Identifier: MIT */
/* Headers of tag matching: the first bytes of a SEND to a tag-matching SRQ (struct ibv_tmh and
 * ibv_rvh in infiniband/tm_types.h). */
#ifndef RXE_WIRE_TAG_H
#define RXE_WIRE_TAG_H

#include <stdbool.h>
#include <stdint.h>

#define TMH_LEN 16u
#define RVH_LEN 16u

/* Values of enum ibv_tmh_op. */
enum tmh_op {
	TMH_NO_TAG,
	TMH_RNDV,
	TMH_FIN,
	TMH_EAGER,
};

struct tmh {
	uint8_t op;
	uint32_t app_ctx; /* the sender's, not interpreted */
	uint64_t tag;
};

/* Rendezvous: where the message is. */
struct rvh {
	uint64_t va;
	uint32_t rkey;
	uint32_t len;
};

void tmh_parse(struct tmh *ret, const uint8_t p[static TMH_LEN]);
void tmh_emit(uint8_t p[static TMH_LEN], const struct tmh *tmh);
void rvh_parse(struct rvh *ret, const uint8_t p[static RVH_LEN]);
void rvh_emit(uint8_t p[static RVH_LEN], const struct rvh *rvh);

#endif
