/* SPDX-License-Identifier: MIT */
/* What an XRC request adds to one of RC: the SRQ that it names (IBTA annex A14). */
#ifndef RXE_EMU_RC_XRC_H
#define RXE_EMU_RC_XRC_H

#include <stdint.h>

#include "emu/rc/nak.h"

struct rxe_engine;
struct rxe_srq;

/* The SRQ of that number in the XRC domain, and its protection domain; *ret_srq is NULL when it is another process's. */
enum rc_fault rxe_xrc_find(struct rxe_engine *engine, uint32_t xrcd, uint32_t srqn,
			   struct rxe_srq **ret_srq, uint32_t *ret_pd);

#endif
