// SPDX-License-Identifier: MIT
/* The symbols in private.h that are data, and the older versions of all. Each has an address of its
 * own, because the linker drops a plain name with a versioned one at the same address. Compiled
 * without link-time optimization, which separates a top-level asm from its function. */
#include "lib/abi/private.h"

#define VERSION(name, node) __asm__(".symver older_" #name ", " #name "@" node)
#define VERSIONS(name)                                                                             \
	VERSION(name, "IBVERBS_PRIVATE_34");                                                       \
	VERSION(name, "IBVERBS_PRIVATE_57");                                                       \
	VERSION(name, "IBVERBS_PRIVATE_59");                                                       \
	VERSION(name, "IBVERBS_PRIVATE_64")

#pragma GCC visibility push(default)
int older_ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
			     unsigned int *type);
const char *older_ibv_wr_opcode_str(enum ibv_wr_opcode opcode);
extern char older_verbs_allow_disassociate_destroy;
#pragma GCC visibility pop

VERSIONS(ibv_query_gid_type);
VERSIONS(ibv_wr_opcode_str);
VERSIONS(verbs_allow_disassociate_destroy);

char verbs_allow_disassociate_destroy;
char older_verbs_allow_disassociate_destroy;

int older_ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
			     unsigned int *type)
{
	return ibv_query_gid_type(context, port, index, type);
}

const char *older_ibv_wr_opcode_str(enum ibv_wr_opcode opcode)
{
	return ibv_wr_opcode_str(opcode);
}
