/* SPDX-License-Identifier: MIT */
/* Declarations of rdma-core 65's verbs.h that an older verbs.h (28 or later) lacks. Part of
 * <rxe_dm/newer.h>: include that after <infiniband/verbs.h> and link with the library as usual.
 *
 * The build asks the installed verbs.h which declarations it lacks (verbs_newer_config.h).
 * Structures that grew have a copy named NAME_65 of the size that they have in rdma-core 65. A
 * member that an older verbs.h lacks is x.MEMBER with every verbs.h, as in x.wr_flush; the others
 * are x.base.MEMBER. */
#ifndef RXE_DM_VERBS_NEWER_H
#define RXE_DM_VERBS_NEWER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Exported, whatever -fvisibility says. */
#pragma GCC visibility push(default)

#include <infiniband/verbs.h>

#include "verbs_newer_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RXE_DM_HAVE_GID_TYPE
enum ibv_gid_type {
	IBV_GID_TYPE_IB,
	IBV_GID_TYPE_ROCE_V1,
	IBV_GID_TYPE_ROCE_V2,
};
#endif

#ifndef RXE_DM_HAVE_GID_ENTRY
struct ibv_gid_entry {
	union ibv_gid gid;
	uint32_t gid_index;
	uint32_t port_num;
	uint32_t gid_type; /* enum ibv_gid_type */
	uint32_t ndev_ifindex;
};
#endif

#ifndef RXE_DM_HAVE_FORK_STATUS
enum ibv_fork_status {
	IBV_FORK_DISABLED,
	IBV_FORK_ENABLED,
	IBV_FORK_UNNEEDED,
};
#endif

#ifndef RXE_DM_HAVE_ECE
struct ibv_ece {
	uint32_t vendor_id;
	uint32_t options;
	uint32_t comp_mask;
};
#endif

/* Enumerators added to existing enumerations. */
#ifndef RXE_DM_HAVE_DM_HANDLE
#define IBV_DM_MASK_HANDLE (1 << 0)
#endif
#ifndef RXE_DM_HAVE_PREFETCH_NO_FAULT
#define IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT ((enum ibv_advise_mr_advice)2)
#endif
#ifndef RXE_DM_HAVE_CQ_PARENT_DOMAIN
#define IBV_CQ_INIT_ATTR_MASK_PD (1 << 1)
#endif
#ifndef RXE_DM_HAVE_RATE_800
#define IBV_RATE_800_GBPS  ((enum ibv_rate)23)
#define IBV_RATE_1200_GBPS ((enum ibv_rate)24)
#endif
#ifndef RXE_DM_HAVE_ATOMIC_WRITE
#define IBV_WR_ATOMIC_WRITE	    ((enum ibv_wr_opcode)15)
#define IBV_WC_ATOMIC_WRITE	    ((enum ibv_wc_opcode)9)
#define IBV_QP_EX_WITH_ATOMIC_WRITE (1 << 12)
#endif
#ifndef RXE_DM_HAVE_FLUSH
#define IBV_WR_FLUSH		    ((enum ibv_wr_opcode)14)
#define IBV_WC_FLUSH		    ((enum ibv_wc_opcode)8)
#define IBV_QP_EX_WITH_FLUSH	    (1 << 11)
#define IBV_ACCESS_FLUSH_GLOBAL	    (1 << 8)
#define IBV_ACCESS_FLUSH_PERSISTENT (1 << 9)

enum ibv_placement_type {
	IBV_FLUSH_GLOBAL = 1 << 0,
	IBV_FLUSH_PERSISTENT = 1 << 1,
};

enum ibv_selectivity_level {
	IBV_FLUSH_RANGE,
	IBV_FLUSH_MR,
};
#endif

#ifndef RXE_DM_HAVE_ODP_FLUSH
#define IBV_ODP_SUPPORT_FLUSH	     (1 << 6)
#define IBV_ODP_SUPPORT_ATOMIC_WRITE (1 << 7)
#endif
/* Bits of device_cap_flags_ex. */
#ifndef RXE_DM_HAVE_DEVICE_FLUSH
#define IB_UVERBS_DEVICE_FLUSH_GLOBAL	  (1ull << 38)
#define IB_UVERBS_DEVICE_FLUSH_PERSISTENT (1ull << 39)
#define IB_UVERBS_DEVICE_ATOMIC_WRITE	  (1ull << 40)
#endif

/* A newer verbs.h also declares these. */
int ibv_get_device_index(struct ibv_device *device);
struct ibv_context *ibv_import_device(int cmd_fd);
struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle);
void ibv_unimport_pd(struct ibv_pd *pd);
struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
void ibv_unimport_mr(struct ibv_mr *mr);
struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle);
void ibv_unimport_dm(struct ibv_dm *dm);
int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size);
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size);
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access);
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);
enum ibv_fork_status ibv_is_fork_initialized(void);
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);

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

#ifndef RXE_DM_HAVE_BUF_EXPORT
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
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
#elif !defined(RXE_DM_HAVE_MR_BUF)
#define IBV_REG_MR_MASK_BUF (1 << 5)
#endif

#ifndef RXE_DM_HAVE_DM_EXPORT
/* Returns a descriptor, or -1 and errno. */
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

struct ibv_qp_attach_comp_cntr_attr {
	uint32_t comp_mask;
	uint32_t op_mask;
};

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t caps_size);
static inline int ibv_query_comp_cntr_caps(struct ibv_context *context,
					   struct ibv_comp_cntr_caps *caps)
{
	return _ibv_query_comp_cntr_caps(context, caps, sizeof(*caps));
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *cc_attr);
int ibv_destroy_comp_cntr(struct ibv_comp_cntr *comp_cntr);
int ibv_set_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t value);
int ibv_set_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t value);
int ibv_inc_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t amount);
int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t amount);
int ibv_read_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t *value);
int ibv_read_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t *value);
int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *comp_cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr);
#endif

/* A structure with the members that were added to it, at their offset. */
#define RXE_DM_GROWN(name, offset, ...)                                                            \
	struct name##_65 {                                                                         \
		__extension__ union {                                                              \
			struct name base;                                                          \
			__extension__ struct {                                                     \
				uint8_t before_[offset];                                           \
				__VA_ARGS__                                                        \
			};                                                                         \
		};                                                                                 \
	}

RXE_DM_GROWN(ibv_port_attr, 52, uint32_t active_speed_ex;);
RXE_DM_GROWN(ibv_device_attr_ex, 396, uint32_t phys_port_cnt_ex;);
RXE_DM_GROWN(ibv_dm, 28, uint32_t handle;);
RXE_DM_GROWN(ibv_cq_init_attr_ex, 48, struct ibv_pd *parent_domain;);
RXE_DM_GROWN(ibv_mr_init_attr, 64, struct ibv_buf *buf;);
RXE_DM_GROWN(ibv_qp_ex, 344,
	     void (*wr_atomic_write)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				     const void *atomic_wr);
	     void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
			      uint8_t type, uint8_t level););

#ifndef RXE_DM_HAVE_FLUSH
static inline void ibv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				size_t len, uint8_t type, uint8_t level)
{
	struct ibv_qp_ex_65 *newer = (struct ibv_qp_ex_65 *)(void *)qp;

	newer->wr_flush(qp, rkey, remote_addr, len, type, level);
}
#endif

/* verbs_context grows at its front: the ibv_context that programs hold is its last member. */
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
