// SPDX-License-Identifier: MIT
/* The queues of a connection. */
#include "lib/rdmacm/rsocket/queue.h"

#include <arpa/inet.h>
#include <assert.h>
#include <byteswap.h>
#include <stddef.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/rsocket.h"

#define BATCH 16 /* completions taken at once, receives posted at once */

/* wr_id: what completes in the upper half, bytes of the send buffer in the lower half. */
enum work {
	WORK_RECV,
	WORK_DATA,
	WORK_CONTROL,
};

static uint64_t work_id(enum work work, uint32_t bytes)
{
	return (uint64_t)work << 32 | bytes;
}

void rs_queue_lost(struct rsocket *rs, int err)
{
	if (err && !rs->end.peer && !rs->err)
		rs->err = err;
	rs->end.peer = true;
	rs->end.peer_sending = true;
}

static int post_recvs(struct rsocket *rs, uint32_t n)
{
	struct ibv_recv_wr wrs[BATCH], *bad;
	uint32_t i;

	for (i = 0; i < n; i++) {
		wrs[i] = (struct ibv_recv_wr){
			.wr_id = work_id(WORK_RECV, 0),
			.next = i + 1 < n ? &wrs[i + 1] : NULL,
		};
	}
	return ibv_post_recv(rs->id->qp, wrs, &bad);
}

int rs_queue_fill(struct rsocket *rs)
{
	uint32_t *left = &rs->receiver.to_post, n;
	int err = 0;

	while (*left && !err) {
		n = *left < BATCH ? *left : BATCH;
		*left -= n;
		err = post_recvs(rs, n);
	}
	return err;
}

static int post(struct rsocket *rs, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int err;

	wr->send_flags |= IBV_SEND_SIGNALED;
	err = ibv_post_send(rs->id->qp, wr, &bad);
	if (!err)
		rs->sender.in_flight++;
	return err;
}

/* sge NULL: the message alone; else its bytes go inline to remote. */
static int post_message(struct rsocket *rs, enum work work, uint32_t message, struct ibv_sge *sge,
			const struct rs_sge *remote)
{
	struct ibv_send_wr wr = {
		.wr_id = work_id(work, 0),
		.sg_list = sge,
		.num_sge = sge != NULL,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = sge ? IBV_SEND_INLINE : 0,
		.imm_data = htonl(message),
	};

	if (sge) {
		wr.wr.rdma.remote_addr = remote->addr;
		wr.wr.rdma.rkey = remote->key;
	}
	return post(rs, &wr);
}

/* Goes on with the next entry of the target list when the one in use is spent and the peer has
 * filled the next. The bytes of its WRITE have no order before the completion of its message (IBTA
 * 9.5): the completion says that the entry is there. */
static void next_target(struct rsocket *rs)
{
	struct rs_sender *sender = &rs->sender;

	if (sender->target.length || !sender->num_targets)
		return;
	sender->target = sender->targets[sender->next];
	sender->num_targets--;
	sender->next = (sender->next + 1) % RS_TARGET_SGES;
}

/* The target that the data message is for. */
static struct rs_sge take_target(struct rsocket *rs, uint32_t len)
{
	struct rs_sge target = rs->sender.target;

	assert(len <= target.length);
	rs->sender.target.addr += len;
	rs->sender.target.length -= len;
	next_target(rs);
	return target;
}

int rs_queue_data(struct rsocket *rs, const uint8_t *bytes, uint32_t len, bool is_inline,
		  const struct rs_sge *remote)
{
	const struct rs_sge to = remote ? *remote : take_target(rs, len);
	struct ibv_sge sge = {
		.addr = (uintptr_t)bytes,
		.length = len,
		.lkey = rs->verbs.send_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = work_id(WORK_DATA, is_inline ? 0 : len),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = remote ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = is_inline ? IBV_SEND_INLINE : 0,
		.imm_data = htonl(rs_message(RS_OP_DATA, len)),
		.wr.rdma = { .remote_addr = to.addr, .rkey = to.key },
	};
	int err = post(rs, &wr);

	if (err)
		return err;
	rs->sender.sent = (uint16_t)(rs->sender.sent + !remote);
	rs->sender.data_slots--;
	return 0;
}

static struct rs_sge swap(struct rs_sge sge)
{
	return (struct rs_sge){ bswap_64(sge.addr), bswap_32(sge.key), bswap_32(sge.length) };
}

int rs_queue_iomap(struct rsocket *rs, uint32_t index, struct rs_iomap_entry entry)
{
	const struct rs_receiver *receiver = &rs->receiver;
	struct ibv_sge sge = { .addr = (uintptr_t)&entry, .length = sizeof(entry) };
	struct rs_sge remote = receiver->remote;
	int err;

	if (receiver->is_swapped) {
		entry.offset = bswap_64(entry.offset);
		entry.sge = swap(entry.sge);
	}
	/* The I/O map follows the target list. */
	remote.addr += receiver->remote.length * sizeof(struct rs_sge) + index * sizeof(entry);
	err = post_message(rs, WORK_DATA, rs_message(RS_OP_IOMAP, index), &sge, &remote);
	if (err)
		return err;
	rs->sender.sent++;
	rs->sender.data_slots--;
	return 0;
}

int rs_queue_control(struct rsocket *rs, enum rs_control control)
{
	int err = post_message(rs, WORK_CONTROL, rs_message(RS_OP_CONTROL, control), NULL, NULL);

	if (!err)
		rs->sender.control_slots--;
	return err;
}

static bool is_half_free(const struct rs_receiver *receiver)
{
	return receiver->free >= receiver->size / 2;
}

static bool are_credits_due(const struct rsocket *rs)
{
	const struct rs_receiver *receiver = &rs->receiver;
	uint16_t since = (uint16_t)(receiver->consumed - receiver->granted);

	return is_half_free(receiver) || since >= rs->options.recvs / 2;
}

/* The address of the next half, in the peer's byte order, goes into the peer's target list. */
static int publish_half(struct rsocket *rs, uint32_t message)
{
	struct rs_receiver *receiver = &rs->receiver;
	struct rs_sge half = {
		.addr = (uintptr_t)receiver->buf + receiver->free_offset,
		.key = rs->verbs.recv_mr->rkey,
		.length = receiver->size / 2,
	};
	struct rs_sge remote = receiver->remote;
	struct ibv_sge sge = { .addr = (uintptr_t)&half, .length = sizeof(half) };
	int err;

	if (receiver->is_swapped)
		half = swap(half);
	remote.addr += receiver->remote_next * sizeof(struct rs_sge);
	err = post_message(rs, WORK_CONTROL, message, &sge, &remote);
	if (err)
		return err;
	receiver->remote_next = (receiver->remote_next + 1) % receiver->remote.length;
	receiver->free -= receiver->size / 2;
	receiver->free_offset = receiver->free_offset ? 0 : receiver->size / 2;
	return 0;
}

void rs_queue_credits(struct rsocket *rs)
{
	struct rs_receiver *receiver = &rs->receiver;
	uint16_t limit = (uint16_t)(receiver->consumed + rs->options.recvs);
	uint32_t message = rs_message(RS_OP_CREDITS, limit);
	int err;

	if (rs->state != RS_CONNECTED || rs->end.peer || rs->end.peer_sending ||
	    rs->end.connection || !rs->sender.control_slots || !are_credits_due(rs))
		return;
	err = is_half_free(receiver) ? publish_half(rs, message)
				     : post_message(rs, WORK_CONTROL, message, NULL, NULL);
	if (err) {
		rs_queue_lost(rs, err);
		return;
	}
	rs->sender.control_slots--;
	receiver->granted = receiver->consumed;
}

/* A peer that sends more than it may breaks the connection. */
static void receive_data(struct rsocket *rs, uint32_t len)
{
	struct rs_receiver *receiver = &rs->receiver;

	if (receiver->count == rs->options.recvs || len > receiver->size - receiver->unread) {
		rs_queue_lost(rs, EPROTO);
		return;
	}
	receiver->lens[(receiver->first + receiver->count) % rs->options.recvs] = len;
	receiver->count++;
	receiver->unread += len;
	rs->edges.in++;
}

static void receive_control(struct rsocket *rs, uint32_t control)
{
	if (control == RS_CONTROL_DISCONNECT)
		rs_queue_lost(rs, 0);
	else if (control == RS_CONTROL_SHUTDOWN)
		rs->end.peer_sending = true;
}

/* len: the bytes that the peer wrote. */
static void receive_credits(struct rsocket *rs, uint16_t limit, uint32_t len)
{
	struct rs_sender *sender = &rs->sender;

	if (len == sizeof(struct rs_sge) && sender->num_targets == RS_TARGET_SGES) {
		rs_queue_lost(rs, EPROTO);
		return;
	}
	sender->limit = limit;
	sender->num_targets += len == sizeof(struct rs_sge);
}

static void receive(struct rsocket *rs, uint32_t message, uint32_t len)
{
	uint32_t data = message & RS_DATA_MASK;

	switch ((enum rs_op)(message >> RS_DATA_BITS)) {
	case RS_OP_DATA: receive_data(rs, data); break;
	case RS_OP_CREDITS: receive_credits(rs, (uint16_t)data, len); break;
	case RS_OP_CONTROL: receive_control(rs, data); break;
	/* The entry has come before the message, which took a credit. */
	case RS_OP_IOMAP: rs->receiver.consumed++; break;
	}
}

static void complete(struct rsocket *rs, const struct ibv_wc *wc)
{
	struct rs_sender *sender = &rs->sender;

	switch ((enum work)(wc->wr_id >> 32)) {
	case WORK_RECV:
		if (wc->status == IBV_WC_SUCCESS) {
			rs->receiver.to_post++;
			receive(rs, ntohl(wc->imm_data), wc->byte_len);
		}
		break;
	case WORK_DATA:
		sender->in_flight--;
		sender->data_slots++;
		sender->used -= (uint32_t)wc->wr_id;
		break;
	case WORK_CONTROL:
		sender->in_flight--;
		sender->control_slots++;
		break;
	}
	if (wc->status != IBV_WC_SUCCESS)
		rs_queue_lost(rs, rs->end.connection ? 0 : ECONNRESET);
}

void rs_queue_progress(struct rsocket *rs)
{
	struct ibv_wc wcs[BATCH];
	int i, n;

	if (!rs->verbs.cq.ibv)
		return;
	do {
		n = ibv_poll_cq(rs->verbs.cq.ibv, BATCH, wcs);
		for (i = 0; i < n; i++)
			complete(rs, &wcs[i]);
		if (!rs->end.peer && rs_queue_fill(rs))
			rs_queue_lost(rs, rs->end.connection ? 0 : ECONNRESET);
	} while (n == BATCH);
	if (n < 0)
		rs_queue_lost(rs, EIO);
	next_target(rs);
	rs_queue_credits(rs);
}

void rs_queue_arm(struct rsocket *rs)
{
	if (rs->verbs.cq.ibv && rs_cq_arm(&rs->verbs.cq))
		rs_queue_lost(rs, EIO);
}

int rs_cq_create(struct rs_cq *cq, struct ibv_context *verbs, uint32_t size)
{
	int err;

	cq->channel = ibv_create_comp_channel(verbs);
	if (!cq->channel)
		return rcm_errno();
	err = rs_set_nonblocking(cq->channel->fd);
	if (err)
		return err;
	cq->ibv = ibv_create_cq(verbs, (int)size, NULL, cq->channel, 0);
	return cq->ibv ? 0 : rcm_errno();
}

void rs_cq_free(struct rs_cq *cq)
{
	if (cq->ibv)
		ibv_destroy_cq(cq->ibv);
	if (cq->channel)
		ibv_destroy_comp_channel(cq->channel);
	*cq = (struct rs_cq){ 0 };
}

int rs_cq_arm(struct rs_cq *cq)
{
	if (cq->is_armed)
		return 0;
	cq->is_armed = true;
	return ibv_req_notify_cq(cq->ibv, 0);
}

void rs_cq_take_event(struct rs_cq *cq)
{
	struct ibv_cq *of;
	void *context;

	if (!cq->is_armed || ibv_get_cq_event(cq->channel, &of, &context))
		return;
	ibv_ack_cq_events(of, 1);
	cq->is_armed = false;
}
