// SPDX-License-Identifier: MIT
/* Reads completions: as an array (ibv_poll_cq(3)), and entry by entry (ibv_create_cq_ex(3)). */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/device.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "net/link/clock.h"

#define POLL_CHUNK 16

static_assert((int)RXE_WC_GENERAL_ERR == (int)IBV_WC_GENERAL_ERR, "enum ibv_wc_status");
static_assert((int)RXE_WC_RECV_RDMA_WITH_IMM == (int)IBV_WC_RECV_RDMA_WITH_IMM, "ibv_wc_opcode");
static_assert((int)RXE_WC_WITH_INV == (int)IBV_WC_WITH_INV, "enum ibv_wc_flags");

/* Takes up to max completions, and runs the engine if there are none. Under the reader's lock. */
static uint32_t take(struct vb_cq *cq, struct rxe_cqe *ret, uint32_t max)
{
	uint32_t n = rxe_cq_poll(&cq->cq, ret, max);
	const bool runs = !n && progress_poll_cq(&cq->dev->progress, &cq->cq, &cq->round);

	if (runs)
		n = rxe_cq_poll(&cq->cq, ret, max);
	if (n)
		progress_polled_found(&cq->dev->progress, runs);
	return n;
}

static void fill_wc(struct ibv_wc *wc, const struct rxe_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = (enum ibv_wc_opcode)cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	if (cqe->flags & RXE_WC_WITH_INV)
		wc->invalidated_rkey = cqe->imm_or_rkey;
	else
		wc->imm_data = htobe32(cqe->imm_or_rkey);
	wc->qp_num = cqe->qpn;
	wc->src_qp = cqe->src_qpn;
	wc->wc_flags = cqe->flags;
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = cqe->frame;
	wc->dlid_path_bits = 0;
}

int vb_poll_cq(struct ibv_cq *base, int num_entries, struct ibv_wc *wc)
{
	struct vb_cq *cq = vb_cq(base);
	struct rxe_cqe cqes[POLL_CHUNK];
	int done = 0;

	if (num_entries <= 0)
		return num_entries < 0 ? -vb_result(refuse(WHY_NUM_ENTRIES, num_entries)) : 0;
	/* A CQ that this process inherited by fork() belongs to its parent. */
	if (!wc || cq->forks != vb_forks())
		return -vb_result(wc ? refuse(WHY_NO_ENGINE, "CQ") : refuse(WHY_NULL, "wc"));
	if (vb_verb_fails(base->context, poll_cq))
		return -vb_result(errno);
	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->lock);
	while (done < num_entries) {
		uint32_t want = (uint32_t)(num_entries - done);
		uint32_t n;

		want = want < POLL_CHUNK ? want : POLL_CHUNK;
		n = done ? rxe_cq_poll(&cq->cq, cqes, want) : take(cq, cqes, want);
		for (uint32_t i = 0; i < n; i++)
			fill_wc(&wc[done++], &cqes[i]);
		if (n < want)
			break;
	}
	if (!cq->single_threaded)
		pthread_mutex_unlock(&cq->lock);
	return done;
}

static struct vb_cq *of(struct ibv_cq_ex *ex)
{
	return container_of(ex, struct vb_cq, ex);
}

static int advance(struct vb_cq *cq, bool progress)
{
	uint32_t n = progress ? take(cq, &cq->current, 1) : rxe_cq_poll(&cq->cq, &cq->current, 1);

	if (!n)
		return ENOENT;
	cq->wallclock_ns = 0;
	cq->ex.wr_id = cq->current.wr_id;
	cq->ex.status = (enum ibv_wc_status)cq->current.status;
	return 0;
}

static int __attribute__((cold, noinline)) refuse_start(const struct ibv_poll_cq_attr *attr)
{
	if (!attr)
		return refuse(WHY_NULL, "attr");
	if (attr->comp_mask)
		return refuse(WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask);
	return refuse(WHY_NO_ENGINE, "CQ");
}

/* Holds the reader's lock until end_poll, which programs call after a start_poll that returned
 * 0. */
static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct vb_cq *cq = of(ex);
	int err;

	/* A CQ that this process inherited by fork() belongs to its parent. */
	if (!attr || attr->comp_mask || cq->forks != vb_forks())
		return vb_result(refuse_start(attr));
	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->lock);
	err = advance(cq, true);
	if (err && !cq->single_threaded)
		pthread_mutex_unlock(&cq->lock);
	return err;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return advance(of(ex), false);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	if (!of(ex)->single_threaded)
		pthread_mutex_unlock(&of(ex)->lock);
}

/* Functions that return a member of the current completion. */
#define READER(type, name, member)                                                                 \
	static type name(struct ibv_cq_ex *ex)                                                     \
	{                                                                                          \
		return (type)of(ex)->current.member;                                               \
	}

READER(enum ibv_wc_opcode, read_opcode, opcode)
READER(uint32_t, read_vendor_err, vendor_err)
READER(unsigned int, read_wc_flags, flags)
READER(uint32_t, read_byte_len, byte_len)
READER(uint32_t, read_qp_num, qpn)
READER(uint32_t, read_src_qp, src_qpn)
READER(uint16_t, read_cvlan, cvlan)
READER(uint64_t, read_completion_ts, timestamp_ns)
/* RoCE has no service levels. As on other RoCE adapters, this is the frame type of a datagram. */
READER(uint8_t, read_sl, frame)

/* Immediate data in network order; with IBV_WC_WITH_INV a key in host order, for
 * ibv_wc_read_invalidated_rkey(3). */
static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	const struct rxe_cqe *cqe = &of(ex)->current;

	return cqe->flags & RXE_WC_WITH_INV ? cqe->imm_or_rkey : htobe32(cqe->imm_or_rkey);
}

/* RoCE has no LIDs. */
static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t read_zero(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/* The flow tag of a receive; a send's entry has another value there. */
static uint32_t read_flow_tag(struct ibv_cq_ex *ex)
{
	return of(ex)->current.opcode == RXE_WC_RECV ? of(ex)->current.flow_tag : 0;
}

/* The two clocks are never read at the same time, so the offset is known as a range. One that is
 * in range stays: completions that follow each other are not earlier for a thread that was
 * preempted between two readings. Out of range: the wall clock was set. */
static uint64_t wall_offset_ns(struct vb_cq *cq)
{
	uint64_t before_ns = clock_now_ns(), wall_ns, least, most;
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	wall_ns = (uint64_t)wall.tv_sec * NSEC_PER_SEC + (uint64_t)wall.tv_nsec;
	most = wall_ns - before_ns;
	least = wall_ns - clock_now_ns();
	if (cq->wall_offset_ns < least || cq->wall_offset_ns > most)
		cq->wall_offset_ns = least;
	return cq->wall_offset_ns;
}

/* Found once for each completion. */
static uint64_t read_wallclock_ns(struct ibv_cq_ex *ex)
{
	struct vb_cq *cq = of(ex);

	if (!cq->wallclock_ns)
		cq->wallclock_ns = cq->current.timestamp_ns + wall_offset_ns(cq);
	return cq->wallclock_ns;
}

/* Zeros for a completion that brings no tag. */
static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *ret)
{
	const struct rxe_cqe *cqe = &of(ex)->current;
	bool has_tag = cqe->opcode == RXE_WC_TM_RECV;

	ret->tag = has_tag ? cqe->tm_tag : 0;
	ret->priv = has_tag ? cqe->tm_priv : 0;
}

bool vb_cq_ex_fill(struct vb_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->ex;

	if (wc_flags & ~(uint64_t)IBV_CREATE_CQ_SUP_WC_FLAGS)
		return false;
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_zero;
	ex->read_completion_ts = read_completion_ts;
	ex->read_tm_info = read_tm_info;
	ex->read_cvlan = read_cvlan;
	ex->read_flow_tag = read_flow_tag;
	ex->read_completion_wallclock_ns = read_wallclock_ns;
	return true;
}
