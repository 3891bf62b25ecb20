// SPDX-License-Identifier: MIT
/* Verbs objects and buffers of a connection. */
#include "lib/rdmacm/rsocket/connection.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <utlist.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/rsocket.h"

#define PAGE	   4096u
#define MOST_TRIES 7 /* of packets, and after RNR NAKs, which then never end */

static bool is_big_endian(void)
{
	return htonl(1) == 1;
}

static int limit_sizes(struct rsocket *rs)
{
	struct rs_options *options = &rs->options;
	struct ibv_device_attr attr;
	uint32_t most;

	if (ibv_query_device(rs->id->verbs, &attr))
		return rcm_errno();
	most = rs_bounded(attr.max_qp_wr - RS_SPARE_RECVS, RS_ENTRIES_MIN, RS_ENTRIES_MAX);
	options->sends = rs_bounded(options->sends, RS_ENTRIES_MIN, most);
	options->recvs = rs_bounded(options->recvs, RS_ENTRIES_MIN, most);
	options->send_bytes = (options->send_bytes + PAGE - 1) & ~(PAGE - 1);
	options->recv_bytes = (options->recv_bytes + PAGE - 1) & ~(PAGE - 1);
	/* The address of a half and entries of the I/O map are sent inline. */
	if (options->inline_bytes < sizeof(struct rs_iomap_entry))
		options->inline_bytes = sizeof(struct rs_iomap_entry);
	return 0;
}

/* Bytes of the target list and the I/O map, in whole pages. */
static size_t lists_len(const struct rsocket *rs)
{
	size_t len = RS_TARGET_SGES * sizeof(struct rs_sge) +
		     rs->options.iomap_size * sizeof(struct rs_iomap_entry);

	return (len + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static int create_qp(struct rsocket *rs)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = rs->verbs.cq.ibv,
		.recv_cq = rs->verbs.cq.ibv,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = rs->options.sends,
			 .max_recv_wr = rs->options.recvs + RS_SPARE_RECVS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = rs->options.inline_bytes },
	};

	if (rdma_create_qp(rs->id, NULL, &attr))
		return rcm_errno();
	if (attr.cap.max_inline_data < sizeof(struct rs_iomap_entry))
		return EOPNOTSUPP;
	return 0;
}

static int create_buffers(struct rsocket *rs)
{
	struct rs_verbs *verbs = &rs->verbs;
	struct rs_options *options = &rs->options;
	size_t recv_len = lists_len(rs) + options->recv_bytes;
	void *memory;

	rs->receiver.lens = calloc(options->recvs, sizeof(uint32_t));
	if (!rs->receiver.lens)
		return ENOMEM;
	memory = mmap(NULL, recv_len + options->send_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return rcm_errno();
	verbs->memory = memory;
	verbs->memory_len = recv_len + options->send_bytes;
	verbs->recv_mr = ibv_reg_mr(rs->id->pd, memory, recv_len,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!verbs->recv_mr)
		return rcm_errno();
	verbs->send_mr = ibv_reg_mr(rs->id->pd, verbs->memory + recv_len, options->send_bytes, 0);
	return verbs->send_mr ? 0 : rcm_errno();
}

/* The first half is published by the private data, the second one with the first credits. */
static void init_state(struct rsocket *rs)
{
	const struct rs_options *options = &rs->options;
	uint8_t *memory = rs->verbs.memory;
	struct rs_sge *targets = (struct rs_sge *)(void *)memory;

	rs->sender = (struct rs_sender){
		.buf = memory + lists_len(rs) + options->recv_bytes,
		.size = options->send_bytes,
		.data_slots = options->sends - RS_CONTROL_SENDS,
		.control_slots = RS_CONTROL_SENDS,
		.targets = targets,
		.iomap = (struct rs_iomap_entry *)(void *)(targets + RS_TARGET_SGES),
	};
	rs->receiver = (struct rs_receiver){
		.buf = memory + lists_len(rs),
		.size = options->recv_bytes,
		.lens = rs->receiver.lens,
		.to_post = options->recvs + RS_SPARE_RECVS,
		.free = options->recv_bytes / 2,
		.free_offset = options->recv_bytes / 2,
	};
}

int rs_setup(struct rsocket *rs)
{
	const struct rs_options *options = &rs->options;
	int err = limit_sizes(rs);

	if (!err)
		err = rs_cq_create(&rs->verbs.cq, rs->id->verbs,
				   options->sends + options->recvs + RS_SPARE_RECVS);
	if (!err)
		err = create_qp(rs);
	if (!err)
		err = create_buffers(rs);
	if (err)
		return err;
	init_state(rs);
	return rs_queue_fill(rs);
}

void rs_mapping_free(struct rsocket *rs, struct rs_mapping *mapping)
{
	rs->unannounced -= !mapping->is_announced;
	DL_DELETE(rs->mappings, mapping);
	ibv_dereg_mr(mapping->mr);
	free(mapping);
}

void rs_setup_free(struct rsocket *rs)
{
	struct rs_verbs *verbs = &rs->verbs;

	while (rs->mappings)
		rs_mapping_free(rs, rs->mappings);
	if (rs->id && rs->id->qp)
		rdma_destroy_qp(rs->id);
	rs_cq_free(&verbs->cq);
	if (verbs->recv_mr)
		ibv_dereg_mr(verbs->recv_mr);
	if (verbs->send_mr)
		ibv_dereg_mr(verbs->send_mr);
	if (verbs->memory)
		munmap(verbs->memory, verbs->memory_len);
	free(rs->receiver.lens);
	/* Threads that wait find nothing there. */
	rs->receiver = (struct rs_receiver){ 0 };
	rs->sender = (struct rs_sender){ 0 };
	*verbs = (struct rs_verbs){ 0 };
}

static struct rs_sge to_network(uint64_t addr, uint32_t key, uint32_t length)
{
	return (struct rs_sge){ htobe64(addr), htobe32(key), htobe32(length) };
}

static struct rs_sge from_network(struct rs_sge sge)
{
	return (struct rs_sge){ be64toh(sge.addr), be32toh(sge.key), be32toh(sge.length) };
}

struct rdma_conn_param rs_setup_param(const struct rsocket *rs, struct rs_conn_data *data)
{
	uint32_t key = rs->verbs.recv_mr->rkey;

	*data = (struct rs_conn_data){
		.version = RS_VERSION,
		.flags = RS_CONN_IOMAP | (is_big_endian() ? RS_CONN_BIG_ENDIAN : 0),
		.credits = htobe16((uint16_t)rs->options.recvs),
		.iomap_size = rs_iomap_scale(rs->options.iomap_size),
		.targets = to_network((uintptr_t)rs->sender.targets, key, RS_TARGET_SGES),
		.buffer = to_network((uintptr_t)rs->receiver.buf, key, rs->receiver.size / 2),
	};
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = sizeof(*data),
		.flow_control = 1,
		.retry_count = MOST_TRIES,
		.rnr_retry_count = MOST_TRIES,
	};
}

bool rs_setup_peer(struct rsocket *rs, const struct rdma_conn_param *param)
{
	struct rs_conn_data data;

	if (!param->private_data || param->private_data_len < sizeof(data))
		return false;
	memcpy(&data, param->private_data, sizeof(data));
	if (data.version != RS_VERSION)
		return false;
	rs->receiver.remote = from_network(data.targets);
	if (!rs->receiver.remote.length)
		return false;
	if (data.flags & RS_CONN_IOMAP)
		rs->receiver.remote_iomap_size = rs_iomap_unscale(data.iomap_size);
	/* The first entry stands for data.buffer. */
	rs->receiver.remote_next = 1 % rs->receiver.remote.length;
	rs->receiver.is_swapped = !!(data.flags & RS_CONN_BIG_ENDIAN) != is_big_endian();
	rs->sender.target = from_network(data.buffer);
	rs->sender.next = 1;
	rs->sender.limit = be16toh(data.credits);
	return true;
}
