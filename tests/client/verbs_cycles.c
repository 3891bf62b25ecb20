// SPDX-License-Identifier: MIT
/* Whatever is made and destroyed ten thousand times leaves memory and descriptors, of this process
 * and of the device server, where they were. */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "lib/abi/newer.h"
#include "lib/mlx5/newer.h"

/* verbs.h's ibv_close_xrcd() follows what it looks up without asking. */
#pragma GCC diagnostic ignored "-Wnull-dereference"

#define WARM_UP	  3000
#define CYCLES	  10000
#define GROWTH_KB 400 /* a leak of 64 bytes a cycle is more */
#define SLACK_FDS 4   /* the server may be about to close what the last cycles had */
#define BOUND_MS  10000

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_dm *dm;
static struct ibv_mr *mr;
static uint8_t bytes[4096];

static void cycle_context(void)
{
	struct ibv_context *other = ibv_open_device(context->device);

	ck_assert_ptr_nonnull(other);
	ck_assert_int_eq(ibv_close_device(other), 0);
}

static void cycle_import(void)
{
	struct ibv_context *other = ibv_import_device(context->cmd_fd);
	struct ibv_pd *its_pd;
	struct ibv_mr *its_mr;
	struct ibv_dm *its_dm;

	ck_assert_ptr_nonnull(other);
	its_pd = ibv_import_pd(other, pd->handle);
	its_mr = ibv_import_mr(its_pd, mr->handle);
	its_dm = ibv_import_dm(other, dm->handle);
	ck_assert_ptr_nonnull(its_mr);
	ck_assert_ptr_nonnull(its_dm);
	ibv_unimport_dm(its_dm);
	ibv_unimport_mr(its_mr);
	ibv_unimport_pd(its_pd);
	ck_assert_int_eq(ibv_close_device(other), 0);
}

static void cycle_pd(void)
{
	ck_assert_int_eq(ibv_dealloc_pd(ibv_alloc_pd(context)), 0);
}

static void cycle_parent(void)
{
	struct ibv_td_init_attr no_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = pd,
						    .td = ibv_alloc_td(context, &no_attr) };
	struct ibv_pd *parent = ibv_alloc_parent_domain(context, &attr);

	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
	ck_assert_int_eq(ibv_dealloc_td(attr.td), 0);
}

static void cycle_mr(void)
{
	ck_assert_int_eq(ibv_dereg_mr(ibv_reg_mr(pd, bytes, sizeof(bytes), 0)), 0);
}

static void cycle_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *its_dm = ibv_alloc_dm(context, &attr);
	struct ibv_mr *its_mr = ibv_reg_dm_mr(pd, its_dm, 0, 4096, IBV_ACCESS_ZERO_BASED);

	ck_assert_int_eq(ibv_dereg_mr(its_mr), 0);
	ck_assert_int_eq(ibv_free_dm(its_dm), 0);
}

static void cycle_dmah(void)
{
	struct ibv_dmah_init_attr attr = { 0 };

	ck_assert_int_eq(ibv_dealloc_dmah(ibv_alloc_dmah(context, &attr)), 0);
}

static void cycle_umem(void)
{
	ck_assert_int_eq(
		mlx5dv_devx_umem_dereg(mlx5dv_devx_umem_reg(context, bytes, sizeof(bytes), 0)), 0);
}

static void cycle_buf(void)
{
	struct ibv_buf *buf;

	ck_assert_ptr_nonnull(ibv_alloc_buf(pd, 4096, &buf));
	ibv_free_buf(buf);
}

static void cycle_cq(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *its_cq = ibv_create_cq(context, 8, NULL, channel, 0);

	ck_assert_int_eq(ibv_destroy_cq(its_cq), 0);
	ck_assert_int_eq(ibv_destroy_comp_channel(channel), 0);
}

static void cycle_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	ck_assert_int_eq(ibv_destroy_qp(ibv_create_qp(pd, &attr)), 0);
}

static void cycle_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };

	ck_assert_int_eq(ibv_destroy_srq(ibv_create_srq(pd, &attr)), 0);
}

static void cycle_ah(void)
{
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1 };

	ck_assert_int_eq(ibv_query_gid(context, 1, 0, &way.grh.dgid), 0);
	ck_assert_int_eq(ibv_destroy_ah(ibv_create_ah(pd, &way)), 0);
}

static void cycle_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8 };
	struct ibv_cq_ex *its_cq = ibv_create_cq_ex(context, &attr);

	ck_assert_ptr_nonnull(its_cq);
	ck_assert_int_eq(ibv_resize_cq(ibv_cq_ex_to_cq(its_cq), 100), 0);
	ck_assert_int_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(its_cq)), 0);
}

/* Memory by its descriptor, which may go as soon as it is registered. */
static void cycle_mr_fd(void)
{
	int fd = memfd_create("cycle", MFD_CLOEXEC);
	struct ibv_mr_init_attr attr = { .length = 4096,
					 .access = IBV_ACCESS_LOCAL_WRITE,
					 .comp_mask = IBV_REG_MR_MASK_FD |
						      IBV_REG_MR_MASK_FD_OFFSET |
						      IBV_REG_MR_MASK_IOVA,
					 .fd = fd };
	struct ibv_mr *its_mr;

	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	its_mr = ibv_reg_mr_ex(pd, &attr);
	ck_assert_ptr_nonnull(its_mr);
	close(fd);
	ck_assert_int_eq(ibv_dereg_mr(its_mr), 0);
}

static void cycle_rereg(void)
{
	ck_assert_int_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, bytes, 2048, 0),
			 0);
	ck_assert_int_eq(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, bytes, sizeof(bytes), 0),
		0);
}

static void cycle_group(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	const union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, 224, 1, 2, 3 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	ck_assert_ptr_nonnull(qp);
	ck_assert_int_eq(ibv_attach_mcast(qp, &group, 0), 0);
	ck_assert_int_eq(ibv_detach_mcast(qp, &group, 0), 0);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
}

/* A umem known twice in this process, and a key over the second: the bytes of CREATE_MKEY as
 * verbs_umem.c explains them. */
static void cycle_mkey(void)
{
	struct mlx5dv_devx_umem *umem =
		mlx5dv_devx_umem_reg(context, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);
	struct mlx5dv_devx_umem *again;
	struct mlx5dv_pd number = { 0 };
	struct mlx5dv_obj of_pd = { .pd = { .in = pd, .out = &number } };
	struct mlx5dv_devx_obj *key;
	uint8_t cmd[272] = { 0x02, 0x00, [12] = 0x40, [18] = 0x05, [20] = 0xff,
			     0xff, 0xff, [23] = 0x5a, [46] = 0x10 };
	uint8_t out[16] = { 0 }, exported[64];
	uint32_t word;

	ck_assert_ptr_nonnull(umem);
	ck_assert_int_eq(mlx5dv_devx_umem_export(umem, exported), 0);
	again = mlx5dv_devx_umem_import(context, exported);
	ck_assert_ptr_nonnull(again);
	ck_assert_int_eq(mlx5dv_init_obj(&of_pd, MLX5DV_OBJ_PD), 0);
	word = htobe32(number.pdn);
	memcpy(cmd + 28, &word, sizeof(word));
	word = htobe32(again->umem_id);
	memcpy(cmd + 100, &word, sizeof(word));
	key = mlx5dv_devx_obj_create(context, cmd, sizeof(cmd), out, sizeof(out));
	ck_assert_ptr_nonnull(key);
	ck_assert_int_eq(mlx5dv_devx_obj_destroy(key), 0);
	mlx5dv_devx_umem_unimport(again);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), 0);
}

static struct ibv_qp *make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	ck_assert_ptr_nonnull(qp);
	return qp;
}

static void connect_to(struct ibv_qp *qp, uint32_t qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = qpn,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 12,
				    .timeout = 18,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1,
				    .ah_attr = { .is_global = 1, .port_num = 1 } };

	ck_assert_int_eq(ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid), 0);
	ck_assert_int_eq(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	attr.qp_state = IBV_QPS_RTR;
	ck_assert_int_eq(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	ck_assert_int_eq(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

static void expect_done(int n)
{
	struct ibv_wc wc;

	while (n > 0) {
		if (ibv_poll_cq(cq, 1, &wc) == 0)
			continue;
		ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
		n--;
	}
}

/* What a connection leaves: the engine's timers, answers, and what the server keeps of one that has
 * gone. */
static void cycle_connection(void)
{
	struct ibv_sge sge = { (uintptr_t)bytes, 64, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv;
	struct ibv_qp *a = make_qp(), *b = make_qp();

	connect_to(a, b->qp_num);
	connect_to(b, a->qp_num);
	sge.length = 0;
	ck_assert_int_eq(ibv_post_recv(b, &recv, &bad_recv), 0);
	ck_assert_int_eq(ibv_post_send(a, &wr, &bad), 0);
	expect_done(2);
	ck_assert_int_eq(ibv_destroy_qp(b), 0);
	ck_assert_int_eq(ibv_destroy_qp(a), 0);
}

static void cycle_xrc(void)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = STDIN_FILENO,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(context, &domain);
	struct ibv_srq_init_attr_ex srq = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = cq,
	};
	struct ibv_qp_init_attr_ex qp = { .qp_type = IBV_QPT_XRC_RECV,
					  .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					  .xrcd = xrcd };
	struct ibv_srq *made;

	ck_assert_ptr_nonnull(xrcd);
	made = ibv_create_srq_ex(context, &srq);
	ck_assert_ptr_nonnull(made);
	ck_assert_int_eq(ibv_destroy_qp(ibv_create_qp_ex(context, &qp)), 0);
	ck_assert_int_eq(ibv_destroy_srq(made), 0);
	ck_assert_int_eq(ibv_close_xrcd(xrcd), 0);
}

static void (*const cycles[])(void) = {
	cycle_context, cycle_import, cycle_pd,	 cycle_parent,	   cycle_mr,
	cycle_dm,      cycle_dmah,   cycle_umem, cycle_buf,	   cycle_cq,
	cycle_qp,      cycle_srq,    cycle_ah,	 cycle_cq_ex,	   cycle_mr_fd,
	cycle_rereg,   cycle_group,  cycle_mkey, cycle_connection, cycle_xrc,
};

static pid_t server_pid(void)
{
	char line[4096];
	int pid = 0;
	FILE *show;

	snprintf(line, sizeof(line), "%s show", getenv("RXE_TEST_COMMAND"));
	ck_assert_int_eq(unsetenv("LD_PRELOAD"), 0); /* a sanitizer, not for the shell */
	show = popen(line, "r");
	ck_assert_ptr_nonnull(show);
	while (fgets(line, sizeof(line), show)) {
		const char *at = strstr(line, ": process ");

		if (at && !pid)
			pid = atoi(at + 10);
	}
	pclose(show);
	ck_assert_int_gt(pid, 0);
	return pid;
}

struct state {
	long kb;
	int fds;
};

static struct state look(pid_t pid)
{
	struct state state = { 0, 0 };
	char path[64];
	long total;
	DIR *fds;
	FILE *statm;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	statm = fopen(path, "r");
	ck_assert_ptr_nonnull(statm);
	ck_assert_int_eq(fscanf(statm, "%ld %ld", &total, &state.kb), 2);
	fclose(statm);
	state.kb *= sysconf(_SC_PAGESIZE) / 1024;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	ck_assert_ptr_nonnull(fds);
	while (readdir(fds))
		state.fds++;
	closedir(fds);
	return state;
}

static void compare(const char *who, struct state before, struct state after)
{
	/* Fewer is no leak: the server gives up what the test before left when its grace has
	 * passed. */
	ck_assert_msg(after.fds - before.fds <= SLACK_FDS, "%s: %d descriptors, %d before", who,
		      after.fds, before.fds);
	ck_assert_msg(after.kb - before.kb <= GROWTH_KB, "%s: %ld KiB, %ld before", who, after.kb,
		      before.kb);
}

START_TEST(stays_where_it_was)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct state ours, servers;
	pid_t server;

	context = fixture_open();
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	dm = ibv_alloc_dm(context, &attr);
	mr = ibv_reg_mr(pd, bytes, sizeof(bytes), 0);
	server = server_pid();
	for (int i = 0; i < WARM_UP; i++)
		cycles[_i]();
	ours = look(getpid());
	servers = look(server);
	for (int i = 0; i < CYCLES; i++)
		cycles[_i]();
	compare("this process", ours, look(getpid()));
	/* It closes what a program left when it finds that the program's socket has closed. */
	for (int ms = 0; look(server).fds - servers.fds > SLACK_FDS && ms < BOUND_MS; ms++)
		usleep(1000);
	compare("the server", servers, look(server));
}
END_TEST

static void add(TCase *tests)
{
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, stays_where_it_was, 0, sizeof(cycles) / sizeof(cycles[0]));
}

int main(void)
{
	return fixture_main("verbs_cycles", add);
}
