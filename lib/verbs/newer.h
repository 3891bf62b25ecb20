/* SPDX-License-Identifier: MIT */
/* What rdma-core 65's verbs.h declares and an older one lacks. Part of <rxe_dm/newer.h>: include that behind
 * <infiniband/verbs.h> and link with the library as usual.
 *
 * Which parts the installed verbs.h lacks was asked when this was built (verbs_newer_config.h). The structures with _65 at
 * the end are those that grew in place: as large as a library of rdma-core 65 has them. */
#ifndef RXE_DM_VERBS_NEWER_H
#define RXE_DM_VERBS_NEWER_H

#include <stddef.h>
#include <stdint.h>

/* What is declared here is an interface, whatever -fvisibility says. */
#pragma GCC visibility push(default)

#include <infiniband/verbs.h>

#if __has_include("verbs_newer_config.h") /* else the installed one is taken to lack it all */
#include "verbs_newer_config.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RXE_DM_HAVE_DMAH
enum ibv_tph_mem_type {
	IBV_TPH_MEM_TYPE_VM, /* volatile */
	IBV_TPH_MEM_TYPE_PM, /* persistent */
};

enum ibv_dmah_init_attr_mask {
	IBV_DMAH_INIT_ATTR_MASK_CPU_ID = 1 << 0,
	IBV_DMAH_INIT_ATTR_MASK_PH = 1 << 1,
	IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE = 1 << 2,
};

struct ibv_dmah_init_attr {
	uint32_t comp_mask; /* enum ibv_dmah_init_attr_mask */
	uint32_t cpu_id;
	uint8_t ph;
	uint8_t tph_mem_type; /* enum ibv_tph_mem_type */
};

struct ibv_dmah {
	struct ibv_context *context;
};

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr);
int ibv_dealloc_dmah(struct ibv_dmah *dmah);
#endif

#ifndef RXE_DM_HAVE_BUF
struct ibv_buf;

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access);
#endif

#ifndef RXE_DM_HAVE_MR_INIT_ATTR
enum ibv_mr_init_attr_mask {
	IBV_REG_MR_MASK_IOVA = 1 << 0,
	IBV_REG_MR_MASK_ADDR = 1 << 1,
	IBV_REG_MR_MASK_FD = 1 << 2,
	IBV_REG_MR_MASK_FD_OFFSET = 1 << 3,
	IBV_REG_MR_MASK_DMAH = 1 << 4,
	IBV_REG_MR_MASK_BUF = 1 << 5,
};

struct ibv_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask; /* enum ibv_mr_init_attr_mask */
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct ibv_dmah *dmah;
	struct ibv_buf *buf;
};

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
#endif

#ifndef RXE_DM_HAVE_DM_EXPORT
/* A descriptor, or -1 and errno. */
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
#endif

#ifndef RXE_DM_HAVE_PORT_SPEED
/* In units of 100 Mb/s. */
int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed);
#endif

#ifndef RXE_DM_HAVE_COMP_CNTR
struct ibv_comp_cntr {
	struct ibv_context *context;
	uint32_t handle;
};

struct ibv_comp_cntr_init_attr {
	uint32_t comp_mask;
	uint32_t type;
	uint32_t flags;
};

struct ibv_comp_cntr_caps {
	uint64_t max_value;
	uint32_t max_counters;
	uint32_t supported_qp_attach_ops;
};
#endif

struct ibv_port_attr_65 {
	struct ibv_port_attr base;
#ifndef RXE_DM_HAVE_ACTIVE_SPEED_EX
	uint32_t active_speed_ex;
#endif
};

struct ibv_qp_ex_65 {
	struct ibv_qp_ex base;
#ifndef RXE_DM_HAVE_WR_FLUSH
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
			 uint8_t type, uint8_t level);
#endif
};

/* It grows at the front; the ibv_context that programs hold is its last member. */
struct verbs_context_65 {
#ifndef RXE_DM_HAVE_BUF
	void (*free_buf)(struct ibv_buf *buf);
	void *(*alloc_buf)(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
#endif
#ifndef RXE_DM_HAVE_DM_EXPORT
	int (*dm_export_dmabuf_fd)(struct ibv_dm *dm);
#endif
#ifndef RXE_DM_HAVE_MR_INIT_ATTR
	struct ibv_mr *(*reg_mr_ex)(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
#endif
#ifndef RXE_DM_HAVE_DMAH
	int (*dealloc_dmah)(struct ibv_dmah *dmah);
	struct ibv_dmah *(*alloc_dmah)(struct ibv_context *context,
				       struct ibv_dmah_init_attr *attr);
#endif
	struct verbs_context base;
};

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
