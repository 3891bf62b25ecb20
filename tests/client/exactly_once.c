// SPDX-License-Identifier: MIT
/* A client of the public verbs: a number of sends, writes, reads and atomics, each checked to
 * arrive intact and once.
 *
 * usage: exactly_once -p PORT [-n COUNT] [HOST]: without HOST it serves. Sizes vary from 1 byte to
 * several packets; every byte is a function of the operation's number, so that a lost, doubled or
 * misplaced one shows. */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLOT   8192U /* bytes an operation may use */
#define WINDOW 64U   /* operations under way */

struct peer_info {
	uint32_t qpn, psn, rkey, reserved;
	uint64_t addr;
	uint8_t gid[16];
};

struct side {
	int tcp;
	bool server;
	uint32_t count;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory; /* count slots, then one more for the atomics */
	enum ibv_mtu mtu;
	union ibv_gid gid;
	struct peer_info peer;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint32_t length_of(uint32_t number)
{
	return 1 + number * 37 % (SLOT - 1);
}

static uint8_t byte_of(uint32_t number, uint32_t at)
{
	return (uint8_t)(number * 131 + at * 7 + (at >> 8) + 1);
}

static void fill(uint8_t *slot, uint32_t number)
{
	for (uint32_t i = 0; i < length_of(number); i++)
		slot[i] = byte_of(number, i);
}

static void check_slot(const uint8_t *slot, uint32_t number, const char *what)
{
	for (uint32_t i = 0; i < SLOT; i++) {
		uint8_t want = i < length_of(number) ? byte_of(number, i) : 0;

		if (slot[i] == want)
			continue;
		fprintf(stderr, "%s %u: byte %u is %u, not %u\n", what, number, i, slot[i], want);
		exit(1);
	}
}

static uint8_t *slot_of(const struct side *s, uint32_t number)
{
	return s->memory + (size_t)number * SLOT;
}

/* Both sides have come this far. */
static void meet(const struct side *s)
{
	char c = 'x';

	if (write(s->tcp, &c, 1) != 1 || recv(s->tcp, &c, 1, MSG_WAITALL) != 1)
		fail("the other side has gone");
}

static void open_device(struct side *s)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	size_t bytes = ((size_t)s->count + 1) * SLOT;
	struct ibv_port_attr port;
	struct ibv_qp_init_attr init;

	if (!list || !list[0] || !(s->context = ibv_open_device(list[0])))
		fail("no device");
	ibv_free_device_list(list);
	if (ibv_query_port(s->context, 1, &port) || ibv_query_gid(s->context, 1, 0, &s->gid))
		fail("query");
	s->mtu = port.active_mtu;
	s->memory = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
	s->pd = ibv_alloc_pd(s->context);
	s->cq = ibv_create_cq(s->context, 2 * WINDOW, NULL, NULL, 0);
	if (!s->memory || !s->pd || !s->cq)
		fail("objects");
	memset(s->memory, 0, bytes);
	s->mr = ibv_reg_mr(s->pd, s->memory, bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	init = (struct ibv_qp_init_attr){
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { WINDOW, WINDOW, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	s->qp = s->mr ? ibv_create_qp(s->pd, &init) : NULL;
	if (!s->qp)
		fail("queue pair");
}

static void exchange(struct side *s)
{
	struct peer_info mine = {
		.qpn = s->qp->qp_num,
		.psn = s->server ? 0xfffff0 : 100, /* one of the two directions wraps */
		.rkey = s->mr->rkey,
		.addr = (uintptr_t)s->memory,
	};

	memcpy(mine.gid, s->gid.raw, sizeof(mine.gid));
	if (write(s->tcp, &mine, sizeof(mine)) != sizeof(mine) ||
	    recv(s->tcp, &s->peer, sizeof(s->peer), MSG_WAITALL) != sizeof(s->peer))
		fail("exchange");
}

static void connect_qp(struct side *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	if (ibv_modify_qp(s->qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		fail("to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = s->mtu,
		.dest_qp_num = s->peer.qpn,
		.rq_psn = s->peer.psn,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } },
	};
	memcpy(attr.ah_attr.grh.dgid.raw, s->peer.gid, sizeof(s->peer.gid));
	if (ibv_modify_qp(s->qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		fail("to RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = s->server ? 0xfffff0 : 100,
		.max_rd_atomic = 8,
	};
	if (ibv_modify_qp(s->qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		fail("to RTS");
}

/* The completion that must come next: number `number`, successful. */
static struct ibv_wc next_completion(const struct side *s, uint32_t number)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(s->cq, 1, &wc)) == 0)
		;
	if (n < 0 || wc.status != IBV_WC_SUCCESS || wc.wr_id != number) {
		fprintf(stderr, "completion %" PRIu64 " where %u was due: %s\n",
			n < 0 ? 0 : wc.wr_id, number,
			n < 0 ? "poll" : ibv_wc_status_str(wc.status));
		exit(1);
	}
	return wc;
}

static void post(const struct side *s, enum ibv_wr_opcode opcode, uint32_t number)
{
	bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct ibv_sge sge = { (uintptr_t)slot_of(s, number), atomic ? 8 : length_of(number),
			       s->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = number, .sg_list = &sge, .num_sge = 1 }, *bad;
	uint64_t counter = s->peer.addr + (uint64_t)s->count * SLOT;

	wr.opcode = opcode;
	if (atomic) {
		wr.wr.atomic.remote_addr = counter;
		wr.wr.atomic.rkey = s->peer.rkey;
		wr.wr.atomic.compare_add = opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? number : 1;
		wr.wr.atomic.swap = number + 1;
	} else {
		wr.wr.rdma.remote_addr = s->peer.addr + (uint64_t)number * SLOT;
		wr.wr.rdma.rkey = s->peer.rkey;
	}
	if (ibv_post_send(s->qp, &wr, &bad))
		fail("post");
}

static void run_all(const struct side *s, enum ibv_wr_opcode opcode)
{
	for (uint32_t i = 0; i < s->count + WINDOW; i++) {
		if (i >= WINDOW)
			next_completion(s, i - WINDOW);
		if (i < s->count)
			post(s, opcode, i);
	}
}

static void post_receive(const struct side *s, uint32_t number)
{
	struct ibv_sge sge = { (uintptr_t)slot_of(s, number), SLOT, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = number, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(s->qp, &wr, &bad))
		fail("post_recv");
}

static void receive_all(const struct side *s)
{
	for (uint32_t i = 0; i < WINDOW && i < s->count; i++)
		post_receive(s, i);
	meet(s);
	for (uint32_t i = 0; i < s->count; i++) {
		struct ibv_wc wc = next_completion(s, i);

		if (wc.byte_len != length_of(i)) {
			fprintf(stderr, "send %u: %u bytes\n", i, wc.byte_len);
			exit(1);
		}
		if (i + WINDOW < s->count)
			post_receive(s, i + WINDOW);
	}
}

static void fill_all(const struct side *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		fill(slot_of(s, i), i);
}

static void check_all(const struct side *s, const char *what)
{
	for (uint32_t i = 0; i < s->count; i++)
		check_slot(slot_of(s, i), i, what);
	printf("%u %s intact, each once\n", s->count, what);
}

static void clear(const struct side *s)
{
	memset(s->memory, 0, ((size_t)s->count + 1) * SLOT);
}

/* The value that was there before: exactly one operation saw each number. */
static void check_originals(const struct side *s, const char *what)
{
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t seen;

		memcpy(&seen, slot_of(s, i), sizeof(seen));
		if (seen != i) {
			fprintf(stderr, "%s %u saw %" PRIu64 "\n", what, i, seen);
			exit(1);
		}
	}
	printf("%u %s intact, each once\n", s->count, what);
}

static void check_counter(const struct side *s, const char *what)
{
	uint64_t total;

	memcpy(&total, slot_of(s, s->count), sizeof(total));
	if (total != s->count) {
		fprintf(stderr, "%s: the counter is %" PRIu64 "\n", what, total);
		exit(1);
	}
	printf("%u %s counted\n", s->count, what);
}

static void serve(struct side *s)
{
	receive_all(s);
	meet(s);
	check_all(s, "sends");
	clear(s);
	meet(s); /* writes */
	meet(s);
	check_all(s, "writes");
	meet(s); /* reads of what the writes left */
	meet(s);
	clear(s);
	meet(s);
	meet(s);
	check_counter(s, "fetch-and-adds");
	clear(s);
	meet(s);
	meet(s);
	check_counter(s, "compare-and-swaps");
}

static void request(struct side *s)
{
	fill_all(s);
	meet(s);
	run_all(s, IBV_WR_SEND);
	meet(s);
	meet(s);
	run_all(s, IBV_WR_RDMA_WRITE);
	meet(s);
	clear(s);
	meet(s);
	run_all(s, IBV_WR_RDMA_READ);
	check_all(s, "reads");
	meet(s);
	clear(s);
	meet(s);
	run_all(s, IBV_WR_ATOMIC_FETCH_AND_ADD);
	check_originals(s, "fetch-and-adds");
	meet(s);
	clear(s);
	meet(s);
	run_all(s, IBV_WR_ATOMIC_CMP_AND_SWP);
	check_originals(s, "compare-and-swaps");
	meet(s);
}

static int tcp_open(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found;
	int on = 1, fd, conn;

	hints.ai_flags = host ? 0 : AI_PASSIVE;
	if (getaddrinfo(host, port, &hints, &found))
		fail("address");
	fd = socket(found->ai_family, found->ai_socktype, 0);
	if (fd < 0)
		fail("socket");
	if (host) {
		conn = connect(fd, found->ai_addr, found->ai_addrlen) ? -1 : fd;
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, 1))
			fail("listen");
		conn = accept(fd, NULL, NULL);
		close(fd);
	}
	if (conn < 0)
		fail("connect");
	freeaddrinfo(found);
	return conn;
}

int main(int argc, char **argv)
{
	struct side s = { .count = 1000 };
	const char *port = "18515";
	int opt;

	while ((opt = getopt(argc, argv, "p:n:")) != -1) {
		if (opt == 'p')
			port = optarg;
		else if (opt == 'n')
			s.count = (uint32_t)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	s.server = optind == argc;
	open_device(&s);
	s.tcp = tcp_open(s.server ? NULL : argv[optind], port);
	exchange(&s);
	connect_qp(&s);
	meet(&s);
	if (s.server)
		serve(&s);
	else
		request(&s);
	meet(&s); /* neither leaves while the other still needs an answer */
	ibv_destroy_qp(s.qp);
	ibv_dereg_mr(s.mr);
	ibv_destroy_cq(s.cq);
	ibv_dealloc_pd(s.pd);
	ibv_close_device(s.context);
	return 0;
}
