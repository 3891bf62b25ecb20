/* SPDX-License-Identifier: MIT */
/* What lib/abi and lib/verbs share. Symbols of rdma-core's private interface that are written by
 * hand (symbols.tsv: PRIVATE, code): those of the newest release are here or in lib/verbs, those of
 * older version nodes in older.c. */
#ifndef RXE_ABI_PRIVATE_H
#define RXE_ABI_PRIVATE_H

#include <stdint.h>

#include "lib/abi/newer.h"

#pragma GCC visibility push(default)
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       unsigned int *type);
const char *ibv_wr_opcode_str(enum ibv_wr_opcode opcode);

/* Provider libraries test the address of this byte and never read the byte. */
extern char verbs_allow_disassociate_destroy;
#pragma GCC visibility pop

/* Fills those entries of a new context that lib/verbs does not fill, because the device lacks the
 * operation: each fails with EOPNOTSUPP, so no entry of a table is NULL. */
void abi_refuse_ops(struct verbs_context *verbs);

#endif
