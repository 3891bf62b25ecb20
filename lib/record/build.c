// SPDX-License-Identifier: MIT
/* Requests that are built call by call (ibv_wr_start(3)): collected in the thread that builds, and
 * written when ibv_wr_complete() has its result. */
#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/record/below.h"
#include "lib/record/ring.h"

#define BUILT_MAX 64u /* more in one list: the first are written as if all were taken */

enum { QP, WR_ID, OPCODE, FLAGS, SGES, BYTES, REMOTE_ADDR, RKEY, IMM, COMPARE, SWAP, REMOTE_QP };

struct built {
	uint64_t began;
	uint64_t arg[RECORD_ARGS];
};

/* Allocated by the first request of a thread: a library that programs load by dlopen(3) has room
 * for some hundred bytes of thread-local storage only. */
static __thread struct built *built;
static __thread uint32_t num_built;
static pthread_key_t of_thread;
static pthread_once_t made = PTHREAD_ONCE_INIT;

/* The library's functions: the same for every queue pair. */
static struct ibv_qp_ex_65 below_qp;

static void make_key(void)
{
	pthread_key_create(&of_thread, free);
}

/* False: no memory. */
static bool has_room(void)
{
	if (built)
		return true;
	pthread_once(&made, make_key);
	built = (struct built *)calloc(BUILT_MAX, sizeof(*built));
	pthread_setspecific(of_thread, built);
	return built;
}

static void write_all(int error)
{
	for (uint32_t i = 0; i < num_built; i++)
		record_add(RECORD_POST_SEND, built[i].began, error, built[i].arg, RECORD_ARGS);
	num_built = 0;
}

static uint64_t *begin(const struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint64_t rkey,
		       uint64_t addr)
{
	static __thread uint64_t not_recorded[RECORD_ARGS];
	struct built *now;

	if (!has_room())
		return not_recorded;
	if (num_built == BUILT_MAX)
		write_all(0);
	now = &built[num_built++];
	memset(now, 0, sizeof(*now));
	now->began = record_now();
	now->arg[QP] = qp->qp_base.qp_num;
	now->arg[WR_ID] = qp->wr_id;
	now->arg[OPCODE] = opcode;
	now->arg[FLAGS] = qp->wr_flags;
	now->arg[REMOTE_ADDR] = addr;
	now->arg[RKEY] = rkey;
	return now->arg;
}

static void add_memory(uint64_t sges, uint64_t bytes)
{
	if (!num_built)
		return;
	built[num_built - 1].arg[SGES] = sges;
	built[num_built - 1].arg[BYTES] = bytes;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	uint64_t *arg = begin(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr);

	arg[COMPARE] = compare;
	arg[SWAP] = swap;
	below_qp.base.wr_atomic_cmp_swp(qp, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	begin(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr)[COMPARE] = add;
	below_qp.base.wr_atomic_fetch_add(qp, rkey, addr, add);
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, const void *value)
{
	begin(qp, IBV_WR_ATOMIC_WRITE, rkey, addr)[BYTES] = 8;
	below_qp.wr_atomic_write(qp, rkey, addr, value);
}

static void wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, size_t len, uint8_t type,
		     uint8_t level)
{
	begin(qp, IBV_WR_FLUSH, rkey, addr)[BYTES] = len;
	below_qp.wr_flush(qp, rkey, addr, len, type, level);
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	begin(qp, IBV_WR_BIND_MW, rkey, info ? info->addr : 0);
	below_qp.base.wr_bind_mw(qp, mw, rkey, info);
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	begin(qp, IBV_WR_LOCAL_INV, rkey, 0);
	below_qp.base.wr_local_inv(qp, rkey);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	begin(qp, IBV_WR_RDMA_READ, rkey, addr);
	below_qp.base.wr_rdma_read(qp, rkey, addr);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	begin(qp, IBV_WR_RDMA_WRITE, rkey, addr);
	below_qp.base.wr_rdma_write(qp, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
	begin(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr)[IMM] = be32toh(imm);
	below_qp.base.wr_rdma_write_imm(qp, rkey, addr, imm);
}

static void wr_send(struct ibv_qp_ex *qp)
{
	begin(qp, IBV_WR_SEND, 0, 0);
	below_qp.base.wr_send(qp);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	begin(qp, IBV_WR_SEND_WITH_IMM, 0, 0)[IMM] = be32toh(imm);
	below_qp.base.wr_send_imm(qp, imm);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	begin(qp, IBV_WR_SEND_WITH_INV, 0, 0)[IMM] = rkey;
	below_qp.base.wr_send_inv(qp, rkey);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	if (num_built)
		built[num_built - 1].arg[REMOTE_QP] = qpn;
	below_qp.base.wr_set_ud_addr(qp, ah, qpn, qkey);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	add_memory(1, length);
	below_qp.base.wr_set_inline_data(qp, addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_data_buf *list)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += list[i].length;
	add_memory(n, bytes);
	below_qp.base.wr_set_inline_data_list(qp, n, list);
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	add_memory(1, length);
	below_qp.base.wr_set_sge(qp, lkey, addr, length);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *list)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += list[i].length;
	add_memory(n, bytes);
	below_qp.base.wr_set_sge_list(qp, n, list);
}

static void wr_start(struct ibv_qp_ex *qp)
{
	below_qp.base.wr_start(qp);
	num_built = 0;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	const uint64_t began = record_now(), requests = num_built;
	const int rc = below_qp.base.wr_complete(qp);

	write_all(record_error(rc));
	RECORD(RECORD_WR_COMPLETE, began, record_error(rc), qp->qp_base.qp_num, requests);
	return rc;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	const uint64_t began = record_now(), requests = num_built;

	below_qp.base.wr_abort(qp);
	num_built = 0;
	RECORD(RECORD_WR_ABORT, began, 0, qp->qp_base.qp_num, requests);
}

void record_build(struct ibv_qp_ex *ex)
{
	struct ibv_qp_ex_65 *qp = (struct ibv_qp_ex_65 *)(void *)ex;

	if (!ex)
		return;
	below_qp = *qp;
	qp->wr_atomic_write = wr_atomic_write;
	qp->wr_flush = wr_flush;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}
