/* SPDX-License-Identifier: MIT */
/* A hand-written symbol of rdma-core's private interface, under the node of every release (symbols.tsv: PRIVATE, code). */
#ifndef RXE_ABI_PRIVATE_H
#define RXE_ABI_PRIVATE_H

/* For the older nodes write older_NAME beside it, at an address of its own: the linker drops a plain name that has a
 * versioned one at the same address. */
#define VB_PRIVATE_VERSION(name, node) __asm__(".symver older_" #name ", " #name "@" node)
#define VB_PRIVATE_VERSIONS(name)                                                                  \
	VB_PRIVATE_VERSION(name, "IBVERBS_PRIVATE_34");                                            \
	VB_PRIVATE_VERSION(name, "IBVERBS_PRIVATE_57");                                            \
	VB_PRIVATE_VERSION(name, "IBVERBS_PRIVATE_59");                                            \
	VB_PRIVATE_VERSION(name, "IBVERBS_PRIVATE_64")

#endif
