/* SPDX-License-Identifier: MIT */
/* Buffers of ibv_alloc_buf(), as memory regions use them. */
#ifndef RXE_VERBS_BUF_H
#define RXE_VERBS_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct ibv_buf;
struct ibv_pd;

/* Does [addr, addr + length) lie in a live buffer of exactly this domain? */
bool vb_buf_holds(const struct ibv_buf *buf, const struct ibv_pd *pd, const void *addr,
		  size_t length);

#endif
