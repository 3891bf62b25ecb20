// SPDX-License-Identifier: MIT
/* Tables of work queues (ibv_create_rwq_ind_table(3)), and what an RSS queue pair has beside a
 * queue pair: a table and a hash (ibv_create_qp_ex(3)). */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inject/verb.h"
#include "lib/verbs/context.h"
#include "lib/verbs/destroy.h"
#include "lib/verbs/error.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/wq.h"

static_assert((int)RSS_DST_PORT_UDP == (int)IBV_RX_HASH_DST_PORT_UDP, "enum ibv_rx_hash_fields");
static_assert((int)RSS_DST_IPV6 == (int)IBV_RX_HASH_DST_IPV6, "enum ibv_rx_hash_fields");

static int check_attr(struct ibv_context *context, const struct ibv_rwq_ind_table_init_attr *attr)
{
	if (attr->comp_mask || attr->log_ind_tbl_size > RSS_MAX_LOG_TBL || !attr->ind_tbl)
		return EINVAL;
	for (uint32_t i = 0; i < 1u << attr->log_ind_tbl_size; i++) {
		if (!vb_is_usable(context, attr->ind_tbl[i], VB_KIND_WQ))
			return EINVAL;
	}
	return 0;
}

static struct ibv_rwq_ind_table *create_table(struct ibv_context *context,
					      struct ibv_rwq_ind_table_init_attr *attr)
{
	static _Atomic int number;
	struct vb_wq_table *table;
	int err;

	if (!vb_is_context(context) || !attr)
		return vb_fail(EINVAL);
	if (vb_verb_fails(context, create_rwq_ind_table))
		return NULL;
	err = check_attr(context, attr);
	if (err)
		return vb_fail(err);
	table = calloc(1, sizeof(*table));
	if (!table)
		return vb_fail(ENOMEM);
	table->base.context = context;
	table->base.ind_tbl_num = table->base.ind_tbl_handle = atomic_fetch_add(&number, 1) + 1;
	if (!vb_live_add(table, VB_KIND_WQ_TABLE)) {
		free(table);
		return vb_fail(ENOMEM);
	}
	table->log_size = attr->log_ind_tbl_size;
	for (uint32_t i = 0; i < 1u << table->log_size; i++) {
		table->wq[i] = vb_wq(attr->ind_tbl[i]);
		table->queue[i] = &table->wq[i]->half.qp;
		atomic_fetch_add(&table->wq[i]->users, 1);
	}
	return &table->base;
}

static int destroy_table(struct ibv_rwq_ind_table *base)
{
	int err = vb_destroy_check(base, VB_KIND_WQ_TABLE, INJECT_VERB_destroy_rwq_ind_table);
	struct vb_wq_table *table = vb_wq_table(base);

	if (!err && atomic_load(&table->users))
		err = EBUSY;
	if (!err)
		err = vb_destroy_take(table, VB_KIND_WQ_TABLE, CTL_KIND_FREE, 0);
	if (err)
		return vb_result(err);
	for (uint32_t i = 0; i < 1u << table->log_size; i++)
		atomic_fetch_sub(&table->wq[i]->users, 1);
	free(table);
	return 0;
}

int vb_wq_table_destroy(void *object)
{
	struct vb_wq_table *table = object;

	return destroy_table(&table->base);
}

static int check_rss(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t both = IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;
	const struct ibv_rx_hash_conf *hash = &attr->rx_hash_conf;

	if ((attr->comp_mask & both) != both || !(attr->comp_mask & IBV_QP_INIT_ATTR_PD) ||
	    !vb_is_usable(context, attr->rwq_ind_tbl, VB_KIND_WQ_TABLE) || attr->srq ||
	    attr->cap.max_recv_wr || attr->cap.max_recv_sge)
		return EINVAL;
	/* Tags are taken off by work queues. */
	if (attr->cap.max_send_wr || attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ||
	    attr->create_flags)
		return EOPNOTSUPP;
	if (hash->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ ||
	    hash->rx_hash_fields_mask & ~(uint64_t)RSS_FIELDS)
		return EOPNOTSUPP;
	return hash->rx_hash_key_len == RSS_KEY_LEN && hash->rx_hash_key ? 0 : EINVAL;
}

int vb_rss_create(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr,
		  struct vb_rss **ret)
{
	struct vb_rss *rss;
	int err = check_rss(context, attr);

	if (err)
		return err;
	rss = calloc(1, sizeof(*rss));
	if (!rss)
		return ENOMEM;
	rss->table = vb_wq_table(attr->rwq_ind_tbl);
	rss->rss = (struct rxe_rss){
		.fields = (uint32_t)attr->rx_hash_conf.rx_hash_fields_mask,
		.log_size = rss->table->log_size,
		.wq = rss->table->queue,
	};
	memcpy(rss->rss.key, attr->rx_hash_conf.rx_hash_key, RSS_KEY_LEN);
	atomic_fetch_add(&rss->table->users, 1);
	*ret = rss;
	return 0;
}

void vb_rss_destroy(struct vb_rss *rss)
{
	if (!rss)
		return;
	atomic_fetch_sub(&rss->table->users, 1);
	free(rss);
}

void vb_rss_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_rwq_ind_table = create_table;
	verbs->base.destroy_rwq_ind_table = destroy_table;
}
