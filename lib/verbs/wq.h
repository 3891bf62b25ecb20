/* SPDX-License-Identifier: MIT */
/* Work queues (ibv_create_wq(3)), tables of them (ibv_create_rwq_ind_table(3)), and the RSS queue
 * pairs that deliver to a table. */
#ifndef RXE_VERBS_WQ_H
#define RXE_VERBS_WQ_H

#include <stdint.h>

#include "emu/container_of.h"
#include "emu/raw/flow.h"
#include "lib/abi/newer.h"
#include "lib/verbs/qp.h"

struct vb_wq {
	struct ibv_wq base;
	/* The engine's queue: a queue pair that only receives. Programs do not see it. */
	struct vb_qp half;
};

struct vb_wq_table {
	struct ibv_rwq_ind_table base;
	uint32_t log_size;
	struct rxe_qp *queue[1u << RSS_MAX_LOG_TBL];
};

/* The hash and table of an RSS queue pair. */
struct vb_rss {
	struct rxe_rss rss;
	struct vb_wq_table *table;
};

static inline struct vb_wq *vb_wq(struct ibv_wq *wq)
{
	return container_of(wq, struct vb_wq, base);
}

static inline struct vb_wq *vb_wq_of_half(struct vb_qp *half)
{
	return container_of(half, struct vb_wq, half);
}

static inline struct vb_wq_table *vb_wq_table(struct ibv_rwq_ind_table *table)
{
	return container_of(table, struct vb_wq_table, base);
}

/* Checks the attributes of an RSS queue pair and makes its part of it. 0 or an errno. */
int vb_rss_create(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr,
		  struct vb_rss **ret);
/* NULL is allowed. */
void vb_rss_destroy(struct vb_rss *rss);

#endif
