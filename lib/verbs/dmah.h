/* SPDX-License-Identifier: MIT */
/* DMA handles, as memory regions use them. */
#ifndef RXE_VERBS_DMAH_H
#define RXE_VERBS_DMAH_H

#include <stdbool.h>
#include <stdint.h>

struct ibv_context;
struct ibv_dmah;

/* Finds the server's handle of a live DMA handle of this context. */
bool vb_dmah_handle(const struct ibv_dmah *dmah, const struct ibv_context *context,
		    uint32_t *ret_handle);

#endif
