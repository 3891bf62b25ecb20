// SPDX-License-Identifier: MIT
/* Paths of datagram rsockets. */
#include "lib/rdmacm/rsocket/datagram.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <utlist.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/message.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/transfer.h"

#define BATCH	   16		/* completions taken at once */
#define SEND_WORK  (1ull << 32) /* of wr_id: a send; the lower half is an index */
#define RECV_BYTES (sizeof(struct ibv_grh) + RS_DATAGRAM_BYTES)

static uint8_t *recv_buf(const struct rs_path *path, uint32_t i)
{
	return path->memory + i * RECV_BYTES;
}

static uint8_t *send_buf(const struct rs_path *path, uint32_t i)
{
	return path->memory + path->recvs * RECV_BYTES + i * (size_t)RS_DATAGRAM_BYTES;
}

static int post_recv(struct rs_path *path, uint32_t i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)recv_buf(path, i),
		.length = RECV_BYTES,
		.lkey = path->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(path->id->qp, &wr, &bad);
}

/* Posts the receive again that an unread message is in. */
static void receive_again(struct rs_path *path, const struct rs_unread *unread)
{
	if (!path->is_lost && post_recv(path, (uint32_t)(unread - path->unread)))
		path->is_lost = true;
}

/* As many messages as the buffers hold that the program asked for. */
static int limit_sizes(const struct rsocket *rs, struct rs_path *path)
{
	const struct rs_options *options = &rs->options;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	uint32_t most;

	if (ibv_query_device(path->id->verbs, &device) ||
	    ibv_query_port(path->id->verbs, path->id->port_num, &port))
		return rcm_errno();
	most = (uint32_t)device.max_qp_wr;
	path->recvs = rs_bounded(options->recv_bytes / RS_DATAGRAM_BYTES, 1, options->recvs);
	path->sends = rs_bounded(options->send_bytes / RS_DATAGRAM_BYTES, 1, options->sends);
	path->recvs = rs_bounded(path->recvs, 1, most);
	path->sends = rs_bounded(path->sends, 1, most);
	path->most = rs_bounded(128u << port.active_mtu, 0, RS_DATAGRAM_BYTES);
	return 0;
}

static int create_buffers(struct rs_path *path)
{
	size_t len = path->recvs * RECV_BYTES + path->sends * (size_t)RS_DATAGRAM_BYTES;
	void *memory;
	uint32_t i;

	assert(path->recvs > 0 && path->sends > 0);
	path->unread = calloc(path->recvs, sizeof(*path->unread));
	path->free_sends = calloc(path->sends, sizeof(*path->free_sends));
	if (!path->unread || !path->free_sends)
		return ENOMEM;
	for (i = 0; i < path->sends; i++)
		path->free_sends[path->num_free++] = i;
	memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return rcm_errno();
	path->memory = memory;
	path->memory_len = len;
	path->mr = ibv_reg_mr(path->id->pd, memory, len, IBV_ACCESS_LOCAL_WRITE);
	return path->mr ? 0 : rcm_errno();
}

static int create_qp(const struct rsocket *rs, struct rs_path *path)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = path->cq.ibv,
		.recv_cq = path->cq.ibv,
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = path->sends,
			 .max_recv_wr = path->recvs,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct epoll_event event = { .events = EPOLLIN };
	uint32_t i;
	int err = 0;

	if (rdma_create_qp(path->id, NULL, &attr))
		return rcm_errno();
	for (i = 0; i < path->recvs && !err; i++)
		err = post_recv(path, i);
	if (!err && epoll_ctl(rs->datagram->epfd, EPOLL_CTL_ADD, path->cq.channel->fd, &event))
		err = rcm_errno();
	return err;
}

static struct rs_path *find(const struct rsocket *rs, const struct rdma_cm_id *id,
			    const struct rs_address *from)
{
	struct rs_path *path;

	DL_FOREACH (rs->datagram->paths, path) {
		if (path->id->verbs == id->verbs && rs_address_is_equal(&path->from, from))
			return path;
	}
	return NULL;
}

static int create(struct rsocket *rs, struct rs_path *path)
{
	int err = limit_sizes(rs, path);

	if (!err)
		err = create_buffers(path);
	if (!err)
		err = rs_cq_create(&path->cq, path->id->verbs, path->recvs + path->sends);
	return err ? err : create_qp(rs, path);
}

int rs_path_get(struct rsocket *rs, struct rdma_cm_id *id, const struct rs_address *from,
		struct rs_path **ret)
{
	struct rs_path *path = find(rs, id, from);
	int err;

	*ret = path;
	if (path)
		return 0;
	path = calloc(1, sizeof(*path));
	if (!path)
		return ENOMEM;
	path->id = id;
	path->from = *from;
	DL_APPEND(rs->datagram->paths, path);
	err = create(rs, path);
	if (err) {
		path->id = NULL;	      /* the caller's still */
		path->num_free = path->sends; /* nothing is in flight */
		if (id->qp)
			rdma_destroy_qp(id);
		rs_path_free(rs, path);
		return err;
	}
	/* A thread that waits knows of no other event than that of the UDP socket yet. */
	rs_path_arm(path);
	*ret = path;
	return 0;
}

static void forget_unread(struct rs_datagram *datagram, const struct rs_path *path)
{
	struct rs_unread *unread, *next;

	DL_FOREACH_SAFE (datagram->unread, unread, next) {
		if (unread->path == path)
			DL_DELETE(datagram->unread, unread);
	}
}

void rs_path_free(struct rsocket *rs, struct rs_path *path)
{
	forget_unread(rs->datagram, path);
	DL_DELETE(rs->datagram->paths, path);
	rs->sender.in_flight -= path->sends - path->num_free;
	if (path->id && path->id->qp)
		rdma_destroy_qp(path->id);
	rs_cq_free(&path->cq);
	if (path->mr)
		ibv_dereg_mr(path->mr);
	if (path->memory)
		munmap(path->memory, path->memory_len);
	if (path->id)
		rdma_destroy_id(path->id);
	free(path->unread);
	free(path->free_sends);
	free(path);
}

int rs_path_send(struct rsocket *rs, struct rs_path *path, const struct rs_peer *peer,
		 struct rs_iov *iov, uint32_t len)
{
	uint32_t i = path->free_sends[path->num_free - 1];
	uint8_t *bytes = send_buf(path, i);
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .lkey = path->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = SEND_WORK | i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = peer->ah, .remote_qpn = peer->qpn, .remote_qkey = RDMA_UDP_QKEY },
	};
	int err;

	sge.length = rs_ud_header_emit(bytes, &path->from);
	rs_iov_gather(iov, bytes + sge.length, len);
	sge.length += len;
	err = ibv_post_send(path->id->qp, &wr, &bad);
	if (err)
		return err;
	path->num_free--;
	rs->sender.in_flight++;
	return 0;
}

bool rs_datagram_has_slots(const struct rs_datagram *datagram)
{
	const struct rs_path *path;

	DL_FOREACH (datagram->paths, path) {
		if (!path->num_free)
			return false;
	}
	return true;
}

bool rs_datagram_arrived(struct rsocket *rs, struct rs_unread *unread)
{
	struct rs_datagram *datagram = rs->datagram;

	if (datagram->connected &&
	    !rs_address_is_equal(&datagram->connected->address, &unread->from))
		return false;
	DL_APPEND(datagram->unread, unread);
	rs->edges.in++;
	return true;
}

void rs_datagram_release(struct rsocket *rs, struct rs_unread *unread)
{
	DL_DELETE(rs->datagram->unread, unread);
	if (unread->path) {
		receive_again(unread->path, unread);
		return;
	}
	rs->datagram->num_by_udp--;
	free(unread);
}

/* The header has no scope for a link-local address: the scope of our own address holds. */
static void receive(struct rsocket *rs, struct rs_path *path, uint32_t i, uint32_t byte_len)
{
	struct rs_unread *unread = &path->unread[i];
	const uint8_t *bytes = recv_buf(path, i) + sizeof(struct ibv_grh);
	uint32_t len, header_len;

	len = byte_len > sizeof(struct ibv_grh) ? byte_len - (uint32_t)sizeof(struct ibv_grh) : 0;
	header_len = rs_ud_header_parse(&unread->from, bytes, len);
	unread->path = path;
	unread->bytes = bytes + header_len;
	unread->len = len - header_len;
	if (IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)(const void *)unread->from.ip) &&
	    unread->from.family == AF_INET6)
		unread->from.scope_id = path->from.scope_id;
	if (!header_len || !rs_datagram_arrived(rs, unread))
		receive_again(path, unread);
}

static void complete(struct rsocket *rs, struct rs_path *path, const struct ibv_wc *wc)
{
	if (wc->wr_id & SEND_WORK) {
		path->free_sends[path->num_free++] = (uint32_t)wc->wr_id;
		rs->sender.in_flight--;
	}
	if (wc->status != IBV_WC_SUCCESS)
		path->is_lost = true;
	else if (!(wc->wr_id & SEND_WORK))
		receive(rs, path, (uint32_t)wc->wr_id, wc->byte_len);
}

void rs_path_progress(struct rsocket *rs, struct rs_path *path)
{
	struct ibv_wc wcs[BATCH];
	int i, n;

	do {
		n = ibv_poll_cq(path->cq.ibv, BATCH, wcs);
		for (i = 0; i < n; i++)
			complete(rs, path, &wcs[i]);
	} while (n == BATCH);
	if (n < 0)
		path->is_lost = true;
}

void rs_path_arm(struct rs_path *path)
{
	if (rs_cq_arm(&path->cq))
		path->is_lost = true;
}
