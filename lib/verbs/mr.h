/* SPDX-License-Identifier: MIT */
/* Memory regions: what all ways to register one share. Memory windows (ibv_alloc_mw(3)). */
#ifndef RXE_VERBS_MR_H
#define RXE_VERBS_MR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"
#include "lib/control/protocol.h"

struct ctl_reg_mr;
struct ibv_dmah;
struct rxe_bind;

struct vb_mr {
	struct ibv_mr base;
	bool by_addr;	/* registered by an address of this process: ibv_rereg_mr() may change it */
	const void *dm; /* registered by ibv_reg_dm_mr() over this struct vb_dm; or NULL */
	unsigned int access;
	uint64_t iova;
	void *map; /* of a descriptor's memory, which is registered like plain memory; else NULL */
	size_t map_len;
};

static inline struct vb_mr *vb_mr(struct ibv_mr *mr)
{
	return container_of(mr, struct vb_mr, base);
}

/* Are these access flags known and consistent? 0 or EINVAL. */
int vb_access_check(unsigned int access);
/* Registers a region, and makes an object that is otherwise a copy of like. NULL and errno. */
struct ibv_mr *vb_mr_make(struct ibv_pd *pd, const struct vb_mr *like,
			  const struct ctl_reg_mr *reg);
/* Memory that a FLUSH is to make persistent must be mapped from files now: an on-demand region may
 * become anything. 0 or an errno, as rdma_rxe's for memory that is not persistent. */
int vb_mr_memory_check(const void *addr, size_t length, uint64_t iova, unsigned int access);
/* Is the memory mapped, writable if write, and no more than the machine holds? 0 or an errno. */
int vb_memory_admit(const void *addr, size_t length, bool write);
/* A request to register memory of this process. */
struct ctl_reg_mr vb_mr_plain(const struct ibv_pd *pd, const void *addr, size_t length,
			      uint64_t iova, unsigned int access);
/* dmah.c: finds the server's handle of a live DMA handle of this context. */
bool vb_dmah_handle(const struct ibv_dmah *dmah, const struct ibv_context *context,
		    uint32_t *ret_handle);
/* Maps a range of a descriptor from the start of its page; *ret_first is its first byte. 0 or
 * errno. */
int vb_map_fd(int fd, uint64_t offset, uint64_t length, bool write, void **ret_map,
	      size_t *ret_map_len, uint8_t **ret_first);

struct vb_mw {
	struct ibv_mw base;
	uint32_t index; /* place of its binding in the slot's table */
};

static inline struct vb_mw *vb_mw(struct ibv_mw *mw)
{
	return container_of(mw, struct vb_mw, base);
}

/* A bind request for the engine of context's device. False: no window of this type or no region of
 * this process and device, or unknown access flags. */
bool vb_mw_bind(struct ibv_context *context, const struct ibv_mw *mw, enum ibv_mw_type type,
		uint32_t rkey, const struct ibv_mw_bind_info *info, struct rxe_bind *ret);

#endif
