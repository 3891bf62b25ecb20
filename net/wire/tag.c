/* SPDX-License-Identifier: MIT */
/* Headers of tag matching: big-endian bytes <-> host-order structs. */
#include "net/wire/tag.h"

#include <string.h>

#include "net/wire/headers.h"

void tmh_parse(struct tmh *ret, const uint8_t p[static TMH_LEN])
{
	ret->op = p[0];
	ret->app_ctx = get_be32(p + 4);
	ret->tag = get_be64(p + 8);
}

void tmh_emit(uint8_t p[static TMH_LEN], const struct tmh *tmh)
{
	p[0] = tmh->op;
	memset(p + 1, 0, 3);
	put_be32(p + 4, tmh->app_ctx);
	put_be64(p + 8, tmh->tag);
}

void rvh_parse(struct rvh *ret, const uint8_t p[static RVH_LEN])
{
	ret->va = get_be64(p);
	ret->rkey = get_be32(p + 8);
	ret->len = get_be32(p + 12);
}

void rvh_emit(uint8_t p[static RVH_LEN], const struct rvh *rvh)
{
	put_be64(p, rvh->va);
	put_be32(p + 8, rvh->rkey);
	put_be32(p + 12, rvh->len);
}
