// SPDX-License-Identifier: MIT
/* The endpoints of a test: made, connected, posted to, waited for. */
#include "fixture.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct ibv_context *fixture_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	ck_assert_ptr_nonnull(list);
	ck_assert_msg(list[0] != NULL, "no device: does the library path name ours?");
	ck_assert_str_eq(ibv_get_device_name(list[0]), "rxe_dm0");
	context = ibv_open_device(list[0]);
	ck_assert_ptr_nonnull(context);
	ibv_free_device_list(list);
	return context;
}

static void fill_cfg(struct end_cfg *cfg)
{
	cfg->type = cfg->type ? cfg->type : IBV_QPT_RC;
	cfg->wrs = cfg->wrs ? cfg->wrs : 64;
	cfg->sges = cfg->sges ? cfg->sges : 4;
	cfg->cqe = cfg->cqe ? cfg->cqe : 256;
	cfg->timeout = cfg->timeout ? cfg->timeout : 18; /* 1 s: busy machines */
	cfg->remote_rights = cfg->remote_rights ? cfg->remote_rights
						: FIXTURE_ALL_RIGHTS & ~IBV_ACCESS_LOCAL_WRITE;
	if (!cfg->no_retry && !cfg->rnr_retry)
		cfg->rnr_retry = 7;
}

static void open_srq(struct end *end)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = end->cfg.wrs, .max_sge = end->cfg.sges },
	};

	end->srq = ibv_create_srq(end->pd, &attr);
	ck_assert_ptr_nonnull(end->srq);
}

static struct ibv_cq *make_cq(struct end *end)
{
	struct ibv_cq_init_attr_ex attr;
	struct ibv_cq_ex *cq;

	if (!end->cfg.cq_attr)
		return ibv_create_cq(end->context, end->cfg.cqe, end, end->channel, 0);
	attr = *end->cfg.cq_attr;
	attr.cqe = (uint32_t)end->cfg.cqe;
	attr.cq_context = end;
	attr.channel = end->channel;
	cq = ibv_create_cq_ex(end->context, &attr);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static void open_qp(struct end *end)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.srq = end->srq,
		.cap = {
			.max_send_wr = end->cfg.wrs,
			.max_recv_wr = end->srq ? 0 : end->cfg.wrs,
			.max_send_sge = end->cfg.sges,
			.max_recv_sge = end->srq ? 0 : end->cfg.sges,
			.max_inline_data = 256,
		},
		.qp_type = end->cfg.type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = end->pd,
	};

	if (end->cfg.send_ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = end->cfg.send_ops;
	}
	end->qp = ibv_create_qp_ex(end->context, &attr);
	ck_assert_ptr_nonnull(end->qp);
}

static int to_init(struct end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (end->cfg.type == IBV_QPT_UD) {
		attr.qkey = FIXTURE_QKEY;
		return ibv_modify_qp(end->qp, &attr, mask | IBV_QP_QKEY);
	}
	attr.qp_access_flags = end->cfg.remote_rights;
	return ibv_modify_qp(end->qp, &attr, mask | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct end *end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = end->cfg.mtu,
		.dest_qp_num = end->peer.qpn,
		.rq_psn = FIXTURE_PSN,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = end->peer.gid, .hop_limit = 64 },
		},
	};
	struct ibv_port_attr port;
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (end->cfg.type == IBV_QPT_UD)
		return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE);
	if (!end->cfg.mtu) {
		ck_assert_int_eq(ibv_query_port(end->context, 1, &port), 0);
		attr.path_mtu = port.active_mtu;
	}
	if (end->cfg.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(end->qp, &attr, mask);
}

static int to_rts(struct end *end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = FIXTURE_PSN,
		.timeout = end->cfg.timeout,
		.retry_cnt = end->cfg.no_retry ? 0 : 7,
		.rnr_retry = end->cfg.rnr_retry,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (end->cfg.type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(end->qp, &attr, mask);
}

void end_open(struct end *end, struct ibv_context *context, const struct end_cfg *cfg)
{
	memset(end, 0, sizeof(*end));
	if (cfg)
		end->cfg = *cfg;
	fill_cfg(&end->cfg);
	end->owns_context = !context;
	end->context = context ? context : fixture_open();
	end->pd = end->cfg.pd ? end->cfg.pd : ibv_alloc_pd(end->context);
	ck_assert_ptr_nonnull(end->pd);
	if (end->cfg.channel) {
		end->channel = ibv_create_comp_channel(end->context);
		ck_assert_ptr_nonnull(end->channel);
	}
	end->cq = end->cfg.cq ? end->cfg.cq : make_cq(end);
	ck_assert_ptr_nonnull(end->cq);
	end->memory = aligned_alloc(4096, FIXTURE_MEMORY);
	ck_assert_ptr_nonnull(end->memory);
	memset(end->memory, 0, FIXTURE_MEMORY);
	end->mr = ibv_reg_mr(end->pd, end->memory, FIXTURE_MEMORY, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(end->mr);
	if (end->cfg.srq)
		open_srq(end);
	open_qp(end);
	ck_assert_int_eq(to_init(end), 0);
	if (end->cfg.type == IBV_QPT_UD) {
		ck_assert_int_eq(to_rtr(end), 0);
		ck_assert_int_eq(to_rts(end), 0);
	}
}

void end_close(struct end *end)
{
	if (end->ah)
		ck_assert_int_eq(ibv_destroy_ah(end->ah), 0);
	if (end->qp)
		ck_assert_int_eq(ibv_destroy_qp(end->qp), 0);
	if (end->srq)
		ck_assert_int_eq(ibv_destroy_srq(end->srq), 0);
	if (end->cq && !end->cfg.cq)
		ck_assert_int_eq(ibv_destroy_cq(end->cq), 0);
	if (end->channel)
		ck_assert_int_eq(ibv_destroy_comp_channel(end->channel), 0);
	if (end->mr)
		ck_assert_int_eq(ibv_dereg_mr(end->mr), 0);
	if (!end->cfg.pd)
		ck_assert_int_eq(ibv_dealloc_pd(end->pd), 0);
	free(end->memory);
	if (end->owns_context)
		ck_assert_int_eq(ibv_close_device(end->context), 0);
}

struct end_address end_address(const struct end *end)
{
	struct end_address address = {
		.qpn = end->qp->qp_num,
		.rkey = end->mr->rkey,
		.addr = (uintptr_t)end->memory,
	};

	ck_assert_int_eq(ibv_query_gid(end->context, 1, 0, &address.gid), 0);
	return address;
}

void end_connect(struct end *end, const struct end_address *peer)
{
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64 };

	end->peer = *peer;
	if (end->cfg.type != IBV_QPT_UD) {
		ck_assert_int_eq(to_rtr(end), 0);
		ck_assert_int_eq(to_rts(end), 0);
		return;
	}
	way.grh.dgid = peer->gid;
	end->ah = ibv_create_ah(end->pd, &way);
	ck_assert_ptr_nonnull(end->ah);
}

void ends_open(struct end *a, struct end *b, const struct end_cfg *cfg)
{
	struct end_address of_a, of_b;

	end_open(a, NULL, cfg);
	end_open(b, a->context, cfg);
	of_a = end_address(a);
	of_b = end_address(b);
	end_connect(a, &of_b);
	end_connect(b, &of_a);
}

void ends_close(struct end *a, struct end *b)
{
	end_close(b);
	end_close(a);
}

struct ibv_send_wr end_wr(const struct end *end, struct ibv_sge *sge, enum ibv_wr_opcode opcode,
			  uint64_t wr_id, size_t at, uint32_t len)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = len ? 1 : 0,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32((uint32_t)wr_id),
	};

	*sge = (struct ibv_sge){ (uintptr_t)end->memory + at, len, end->mr->lkey };
	if (end->cfg.type == IBV_QPT_UD) {
		wr.wr.ud.ah = end->ah;
		wr.wr.ud.remote_qpn = end->peer.qpn;
		wr.wr.ud.remote_qkey = FIXTURE_QKEY;
	} else if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = end->peer.addr + at;
		wr.wr.atomic.rkey = end->peer.rkey;
	} else {
		wr.wr.rdma.remote_addr = end->peer.addr + at;
		wr.wr.rdma.rkey = end->peer.rkey;
	}
	return wr;
}

void end_post(struct end *end, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t at, uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = end_wr(end, &sge, opcode, wr_id, at, len);
	struct ibv_send_wr *bad = NULL;

	ck_assert_int_eq(ibv_post_send(end->qp, &wr, &bad), 0);
}

void end_recv(struct end *end, uint64_t wr_id, size_t at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)end->memory + at, len, end->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = len ? 1 : 0 };
	struct ibv_recv_wr *bad = NULL;

	if (end->srq)
		ck_assert_int_eq(ibv_post_srq_recv(end->srq, &wr, &bad), 0);
	else
		ck_assert_int_eq(ibv_post_recv(end->qp, &wr, &bad), 0);
}

struct ibv_wc end_wait(struct end *end)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(end->cq, 1, &wc);
	} while (n == 0);
	ck_assert_int_eq(n, 1);
	return wc;
}

struct ibv_wc end_wait_for(struct end *end, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = end_wait(end);

	ck_assert_msg(wc.wr_id == wr_id && wc.status == status,
		      "completion of %llu: %s; expected %llu: %s", (unsigned long long)wc.wr_id,
		      ibv_wc_status_str(wc.status), (unsigned long long)wr_id,
		      ibv_wc_status_str(status));
	return wc;
}

void end_expect_nothing(struct end *end)
{
	struct ibv_wc wc;
	int n = 0;

	/* An empty poll may sleep: few, within the 300 ms of the shortest rule. */
	for (int i = 0; i < 100 && !n; i++)
		n = ibv_poll_cq(end->cq, 1, &wc);
	ck_assert_int_eq(n, 0);
}

enum ibv_qp_state end_state(struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ck_assert_int_eq(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

void expect_event(struct ibv_context *context, enum ibv_event_type type)
{
	struct ibv_async_event event;

	ck_assert_int_eq(ibv_get_async_event(context, &event), 0);
	ck_assert_msg(event.event_type == type, "event '%s', expected '%s'",
		      ibv_event_type_str(event.event_type), ibv_event_type_str(type));
	ibv_ack_async_event(&event);
}

int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static uint8_t pattern(size_t at, uint32_t number)
{
	return (uint8_t)(number * 131 + at * 7 + (at >> 8) * 13 + 1);
}

void fill(uint8_t *bytes, size_t len, uint32_t number)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = pattern(i, number);
}

/* An assertion for each byte would report each to the runner. */
void expect_filled(const uint8_t *bytes, size_t len, uint32_t number)
{
	size_t i = 0;

	while (i < len && bytes[i] == pattern(i, number))
		i++;
	ck_assert_msg(i == len, "byte %zu of %zu is %u, expected %u", i, len, bytes[i],
		      pattern(i, number));
}

void expect_zero(const uint8_t *bytes, size_t len)
{
	size_t i = 0;

	while (i < len && !bytes[i])
		i++;
	ck_assert_msg(i == len, "byte %zu of %zu is %u, expected 0", i, len, bytes[i]);
}

int beside(void (*other)(int sock), pid_t *ret_pid)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	*ret_pid = fork();
	ck_assert_int_ge(*ret_pid, 0);
	if (*ret_pid == 0) {
		close(pair[0]);
		other(pair[1]);
		exit(0);
	}
	close(pair[1]);
	return pair[0];
}

void meet(int sock)
{
	char c = 'x';

	ck_assert_int_eq(send(sock, &c, 1, MSG_NOSIGNAL), 1);
	ck_assert_msg(recv(sock, &c, 1, 0) == 1, "the other process has gone");
}

bool send_fd(int sock, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	char c = 'f';
	struct iovec iov = { &c, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1;
}

void give_fd(int sock, int fd)
{
	ck_assert(send_fd(sock, fd));
}

int receive_fd(int sock)
{
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 ||
	    msg.msg_controllen < CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA((struct cmsghdr *)room), sizeof(fd));
	return fd;
}

int take_fd(int sock)
{
	int fd = receive_fd(sock);

	ck_assert_int_ge(fd, 0);
	return fd;
}

struct end_address swap_addresses(int sock, const struct end *end)
{
	struct end_address mine = end_address(end), theirs;

	ck_assert_int_eq(send(sock, &mine, sizeof(mine), MSG_NOSIGNAL), sizeof(mine));
	ck_assert_int_eq(recv(sock, &theirs, sizeof(theirs), MSG_WAITALL), sizeof(theirs));
	return theirs;
}

void join(pid_t pid, int sock)
{
	int status;

	close(sock);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		      "the other process ended with status 0x%x", (unsigned int)status);
}

int fixture_main(const char *name, void (*add)(TCase *tests))
{
	Suite *suite = suite_create(name);
	TCase *tests = tcase_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 120); /* busy machines, sanitizers */
	add(tests);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
