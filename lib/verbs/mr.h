/* SPDX-License-Identifier: MIT */
/* What the kinds of memory region have in common. */
#ifndef RXE_VERBS_MR_H
#define RXE_VERBS_MR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_buf;
struct ibv_context;
struct ibv_dmah;
struct ibv_mr;
struct ibv_pd;
struct vb_mr;
struct ctl_reg_mr;

/* 0, EINVAL, or EOPNOTSUPP. */
int vb_access_check(unsigned int access);
/* Register, and give the program an object that is otherwise like this one. NULL and errno. */
struct ibv_mr *vb_mr_make(struct ibv_pd *pd, const struct vb_mr *like,
			  const struct ctl_reg_mr *reg);
/* Map a range of a descriptor, from its page's start on; *ret_first is where its first byte is. errno, or 0. */
int vb_map_fd(int fd, uint64_t offset, uint64_t length, bool write, void **ret_map,
	      size_t *ret_map_len, uint8_t **ret_first);
/* A live DMA handle of this context (dmah.c)? */
bool vb_dmah_handle(const struct ibv_dmah *dmah, const struct ibv_context *context,
		    uint32_t *ret_handle);
/* Does [addr, addr + length) lie in a live buffer of this very domain (buf.c)? */
bool vb_buf_holds(const struct ibv_buf *buf, const struct ibv_pd *pd, const void *addr,
		  size_t length);

#endif
