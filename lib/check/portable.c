// SPDX-License-Identifier: MIT
/* Limits of adapters, by the sources of their drivers:
 * ConnectX: copies of device memory, rdma-core 44, providers/mlx5/verbs.c, mlx5_access_dm(); gather
 *   entries, Linux 6.1, drivers/infiniband/hw/mlx5/main.c, mlx5_ib_query_device(): 30 where the
 *   adapter's requests have 512 bytes; alignment, hw/mlx5/dm.c, mlx5_cmd_alloc_memic(): 64 bytes
 *   or more.
 * EFA: rdma-core 44, providers/efa/efa_io_defs.h, EFA_IO_TX_DESC_NUM_BUFS and
 *   EFA_IO_TX_DESC_INLINE_MAX_SIZE; later adapters take 80 bytes inline (rdma-core 63). Entries of
 *   a receive are what the adapter reports.
 * irdma: rdma-core 44, providers/irdma/user.h, IRDMA_MAX_WQ_FRAGMENT_COUNT and
 *   IRDMA_MAX_INLINE_DATA_SIZE. */
#include "lib/check/portable.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

#define ATOMIC_LEN     8u
#define ATOMIC_LOG     3u /* the logarithm of ATOMIC_LEN */
#define IRDMA_SGES     13u
#define IRDMA_INLINE   101u
#define CONNECTX_WORDS 4u /* device memory is accessed in words of as many bytes */

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

void portable_sending(const struct check_qp *qp, const struct ibv_send_wr *wr)
{
	if (!is_atomic(wr->opcode) || wr->wr.atomic.remote_addr % ATOMIC_LEN == 0)
		return;
	check_report(CHECK_PORT_ATOMIC,
		     (struct check_where[]){ { "posted here", NULL },
					     { "QP created here", &qp->object->made } },
		     2,
		     "%s, wr_id 0x%" PRIx64 ": the atomic's remote address 0x%" PRIx64
		     " is no multiple of 8",
		     qp->object->label, wr->wr_id, wr->wr.atomic.remote_addr);
}

void portable_qp_made(const struct check_object *qp, const struct ibv_qp_cap *asked)
{
	if (asked->max_send_sge <= IRDMA_SGES && asked->max_recv_sge <= IRDMA_SGES &&
	    asked->max_inline_data <= IRDMA_INLINE)
		return;
	check_report(
		CHECK_PORT_SGES, (struct check_where[]){ { "created here", &qp->made } }, 1,
		"%s was asked for max_send_sge %u, max_recv_sge %u and max_inline_data %u: irdma "
		"grants 13, 13 and 101; EFA max_send_sge 2 and 32 bytes inline",
		qp->label, asked->max_send_sge, asked->max_recv_sge, asked->max_inline_data);
}

struct check_dm {
	uint32_t log_align; /* as the program asked for */
};

void portable_dm_made(struct check_object *dm, uint32_t log_align)
{
	struct check_dm *part = malloc(sizeof(*part));

	if (!part)
		return;
	part->log_align = log_align;
	dm->part = part;
	dm->free_part = free;
}

void portable_posting(const struct check_request *request)
{
	const struct check_region *region = request->remote.region;
	const struct check_object *dm = region && region->object ? region->dm : NULL;
	const struct check_dm *part = dm && !dm->dead ? dm->part : NULL;

	if (!request->is_atomic || !part || part->log_align >= ATOMIC_LOG)
		return;
	check_report(CHECK_PORT_DM_ALIGN,
		     (struct check_where[]){ { "posted here", &request->posted },
					     { "device memory allocated here", &dm->made } },
		     2,
		     "%s, wr_id 0x%" PRIx64
		     ": an atomic on %s, which was allocated with log_align_req %u: nothing "
		     "promises that it begins at a multiple of 8",
		     request->queue->owner->label, request->wr_id, dm->label, part->log_align);
}

void portable_dm_copying(const struct ibv_dm *dm, uint64_t offset, size_t len, const char *verb)
{
	const struct check_object *object = object_find(dm);

	if (!object || object->dead || (offset % CONNECTX_WORDS == 0 && len % CONNECTX_WORDS == 0))
		return;
	check_report(CHECK_PORT_DM_COPY,
		     (struct check_where[]){ { "copied here", NULL },
					     { "device memory allocated here", &object->made } },
		     2,
		     "%s: %s: %zu bytes at offset %" PRIu64
		     ": ConnectX copies multiples of 4 bytes, at offsets that are",
		     verb, object->label, len, offset);
}
