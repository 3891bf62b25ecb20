/* SPDX-License-Identifier: MIT */
/* Compares a packet of ours with one of rdma_rxe, byte for byte. */
#ifndef RXE_TRACE_GOLDEN_BYTES_H
#define RXE_TRACE_GOLDEN_BYTES_H

#include <stdbool.h>

#include "tests/unit/wire_vectors.h"

/* mine is BTH to ICRC. Two bits may differ (docs/INTEROP.md): MigReq, which is 1 in ours
 * and 0 in theirs; and AckReq, which ours may set where theirs does not. The ICRC must be right for
 * the addresses and the identification of theirs. */
bool golden_same_bytes(const struct vector *theirs, const uint8_t *mine, size_t len);

#endif
