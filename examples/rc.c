// SPDX-License-Identifier: MIT
/* What the examples have in common: devices, connections, and a socket between two processes. */
#include "rc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

struct ibv_context *rc_open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	if (!list || !list[0])
		die("no RDMA device; start this with 'rxe_dm run --'");
	context = ibv_open_device(list[0]);
	if (!context)
		die("ibv_open_device");
	ibv_free_device_list(list);
	return context;
}

void rc_open(struct rc *rc, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};

	rc->context = pd->context;
	rc->pd = pd;
	rc->cq = ibv_create_cq(pd->context, 8, NULL, NULL, 0);
	if (!rc->cq)
		die("ibv_create_cq");
	init.send_cq = init.recv_cq = rc->cq;
	rc->qp = ibv_create_qp(pd, &init);
	if (!rc->qp)
		die("ibv_create_qp");
	errno = ibv_modify_qp(rc->qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (errno)
		die("to INIT");
}

void rc_close(struct rc *rc)
{
	if (ibv_destroy_qp(rc->qp) || ibv_destroy_cq(rc->cq))
		die("closing a connection");
}

void rc_close_device(struct ibv_pd *pd)
{
	struct ibv_context *context = pd->context;

	if (ibv_dealloc_pd(pd) || ibv_close_device(context))
		die("closing the device");
}

static void to_rts(struct rc *rc, const struct rc_card *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = peer->gid, .hop_limit = 64 } },
	};

	errno = ibv_modify_qp(rc->qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);
	if (errno)
		die("to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	errno = ibv_modify_qp(rc->qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	if (errno)
		die("to RTS");
}

struct rc_card rc_connect(struct rc *rc, int sock, uint32_t rkey, uint64_t addr)
{
	struct rc_card mine = { .qpn = rc->qp->qp_num, .rkey = rkey, .addr = addr }, theirs;

	if (ibv_query_gid(rc->context, 1, 0, &mine.gid))
		die("ibv_query_gid");
	rc_tell(sock, &mine, sizeof(mine));
	rc_hear(sock, &theirs, sizeof(theirs));
	to_rts(rc, &theirs);
	rc_meet(sock);
	return theirs;
}

void rc_connect_to_itself(struct rc *rc)
{
	struct rc_card card = { .qpn = rc->qp->qp_num };

	if (ibv_query_gid(rc->context, 1, 0, &card.gid))
		die("ibv_query_gid");
	to_rts(rc, &card);
}

void rc_run(struct rc *rc, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int n;

	wr->send_flags |= IBV_SEND_SIGNALED;
	errno = ibv_post_send(rc->qp, wr, &bad);
	if (errno)
		die("ibv_post_send");
	do {
		n = ibv_poll_cq(rc->cq, 1, &wc);
	} while (n == 0);
	if (n < 0 || wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "a request failed: %s\n", ibv_wc_status_str(wc.status));
		exit(EXIT_FAILURE);
	}
}

int rc_beside(void (*other)(int sock))
{
	int pair[2];
	pid_t pid;

	fflush(stdout);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(pair[0]);
		other(pair[1]);
		exit(EXIT_SUCCESS);
	}
	close(pair[1]);
	return pair[0];
}

void rc_join(int sock)
{
	int status;

	close(sock);
	if (wait(&status) < 0)
		die("wait");
	if (status != 0) {
		fprintf(stderr, "the other process ended with status 0x%x\n", (unsigned int)status);
		exit(EXIT_FAILURE);
	}
}

void rc_tell(int sock, const void *bytes, size_t len)
{
	if (send(sock, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("the other process has gone");
}

void rc_hear(int sock, void *bytes, size_t len)
{
	if (recv(sock, bytes, len, MSG_WAITALL) != (ssize_t)len)
		die("the other process has gone");
}

void rc_meet(int sock)
{
	char c = '!';

	fflush(stdout);
	rc_tell(sock, &c, 1);
	rc_hear(sock, &c, 1);
}

void rc_give_fd(int sock, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { "f", 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *cmsg = (struct cmsghdr *)room;

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	if (sendmsg(sock, &msg, MSG_NOSIGNAL) != 1)
		die("sending a descriptor");
}

int rc_take_fd(int sock)
{
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		die("receiving a descriptor");
	memcpy(&fd, CMSG_DATA((struct cmsghdr *)room), sizeof(fd));
	return fd;
}
