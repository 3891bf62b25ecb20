/* SPDX-License-Identifier: MIT */
/* What an XRC request adds to an RC request: the SRQ that it names (IBTA annex A14). */
#ifndef RXE_EMU_RC_XRC_H
#define RXE_EMU_RC_XRC_H

#include <stdint.h>

#include "emu/rc/nak.h"

struct rxe_engine;
struct rxe_srq;

/* Finds the SRQ with this number in the XRC domain, and its protection domain. *ret_srq is NULL
 * when another process owns the SRQ. */
enum rc_fault rxe_xrc_find(struct rxe_engine *engine, uint32_t xrcd, uint32_t srqn,
			   struct rxe_srq **ret_srq, uint32_t *ret_pd);

#endif
