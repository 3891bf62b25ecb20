// SPDX-License-Identifier: MIT
/* A memory window that another process of the domain has bound. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"

#define AREA	 0x2000u
#define AREA_LEN 4096u
#define REMOTE	 (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct end a, b;
static struct ibv_mr
	*mr; /* of b: [AREA, AREA + AREA_LEN) of its memory, nothing of it open to peers */

static void open_ends(void)
{
	ends_open(&a, &b, &(struct end_cfg){ 0 });
	mr = ibv_reg_mr(b.pd, b.memory + AREA, AREA_LEN,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	ck_assert_ptr_nonnull(mr);
}

static void close_ends(void)
{
	if (mr)
		ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ends_close(&a, &b);
}

static void write_by(uint32_t rkey, enum ibv_wc_status status)
{
	a.peer.rkey = rkey;
	end_post(&a, IBV_WR_RDMA_WRITE, 9, AREA, 8);
	end_wait_for(&a, 9, status);
}

/* The other process's share: its queue pair is not the one that the peer writes to. */
struct share {
	struct ibv_context *context;
	struct end end;
	struct ibv_mr *mr;
};

static void open_share(struct share *s, int sock)
{
	const int cmd_fd = take_fd(sock);
	struct end_cfg cfg = { 0 };
	struct end_address own;
	uint32_t handles[2];

	s->context = ibv_import_device(cmd_fd);
	ck_assert_ptr_nonnull(s->context);
	ck_assert_int_eq(read(sock, handles, sizeof(handles)), sizeof(handles));
	cfg.pd = ibv_import_pd(s->context, handles[0]);
	ck_assert_ptr_nonnull(cfg.pd);
	end_open(&s->end, s->context, &cfg);
	own = end_address(&s->end);
	end_connect(&s->end, &own);
	s->mr = ibv_import_mr(cfg.pd, handles[1]);
	ck_assert_ptr_nonnull(s->mr);
}

static void close_share(struct share *s)
{
	struct ibv_pd *pd = s->end.pd;

	ibv_unimport_mr(s->mr);
	end_close(&s->end);
	ibv_unimport_pd(pd);
	ck_assert_int_eq(ibv_close_device(s->context), 0);
}

static void bind_it(struct share *s, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	ck_assert_int_eq(ibv_bind_mw(s->end.qp, mw, bind), 0);
	end_wait_for(&s->end, 1, IBV_WC_SUCCESS);
}

/* Binds a window to the region of the first process, and closes it on its word. */
static void binder(int sock)
{
	struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;
	struct share s;

	open_share(&s, sock);
	bind.bind_info =
		(struct ibv_mw_bind_info){ .mr = s.mr, .length = 64, .mw_access_flags = REMOTE };
	ck_assert_int_eq(read(sock, &bind.bind_info.addr, 8), 8);
	mw = ibv_alloc_mw(s.end.pd, IBV_MW_TYPE_1);
	ck_assert_ptr_nonnull(mw);
	bind_it(&s, mw, &bind);
	ck_assert_int_eq(write(sock, &mw->rkey, 4), 4);
	meet(sock);
	bind.bind_info = (struct ibv_mw_bind_info){ 0 };
	bind_it(&s, mw, &bind);
	meet(sock);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	close_share(&s);
}

/* With the binder's window: closed by itself, or by its death. */
static void another_process_binds(bool kill_it)
{
	uint32_t handles[2], rkey;
	uint64_t addr;
	pid_t pid;
	int sock = beside(binder, &pid);

	open_ends();
	handles[0] = b.pd->handle;
	handles[1] = mr->handle;
	addr = (uintptr_t)b.memory + AREA;
	give_fd(sock, b.context->cmd_fd);
	ck_assert_int_eq(write(sock, handles, sizeof(handles)), sizeof(handles));
	ck_assert_int_eq(write(sock, &addr, 8), 8);
	ck_assert_int_eq(read(sock, &rkey, 4), 4);
	fill(a.memory + AREA, 8, 5);
	write_by(rkey, IBV_WC_SUCCESS);
	expect_filled(b.memory + AREA, 8, 5);
	ck_assert_int_eq(ibv_dereg_mr(mr), EBUSY);
	if (kill_it) {
		kill(pid, SIGKILL);
		/* The server learns of it in its own time. */
		while (ibv_dereg_mr(mr) == EBUSY)
			sched_yield();
		mr = NULL;
	} else {
		meet(sock);
		meet(sock);
	}
	write_by(rkey, IBV_WC_REM_ACCESS_ERR);
	if (kill_it)
		close(sock);
	else
		join(pid, sock);
	close_ends();
}

START_TEST(bound_by_another_process)
{
	another_process_binds(false);
}
END_TEST

START_TEST(bound_by_a_process_that_is_killed)
{
	another_process_binds(true);
}
END_TEST

static bool shows(const char *what)
{
	char line[512];
	bool found = false;
	FILE *show;

	ck_assert_ptr_nonnull(getenv("RXE_TEST_COMMAND"));
	snprintf(line, sizeof(line), "%s show", getenv("RXE_TEST_COMMAND"));
	ck_assert_int_eq(unsetenv("LD_PRELOAD"), 0); /* a sanitizer, not for the shell */
	show = popen(line, "r");
	ck_assert_ptr_nonnull(show);
	while (fgets(line, sizeof(line), show))
		found |= strstr(line, what) != NULL;
	ck_assert_int_eq(pclose(show), 0);
	return found;
}

START_TEST(shown)
{
	struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *one, *two;
	char line[80];

	open_ends();
	one = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
	two = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	ck_assert(one && two);
	ck_assert(shows(" 1    not bound"));
	ck_assert(shows(" 2B   not bound"));
	bind.bind_info = (struct ibv_mw_bind_info){ .mr = mr,
						    .addr = (uintptr_t)b.memory + AREA,
						    .length = 130,
						    .mw_access_flags = REMOTE };
	ck_assert_int_eq(ibv_bind_mw(b.qp, one, &bind), 0);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	snprintf(line, sizeof(line), " 1    %08x   000000              130 ", mr->rkey);
	ck_assert(shows(line));
	ck_assert_int_eq(ibv_dealloc_mw(one), 0);
	ck_assert(!shows(line));
	ck_assert_int_eq(ibv_dealloc_mw(two), 0);
	close_ends();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, bound_by_another_process);
	tcase_add_test(tests, bound_by_a_process_that_is_killed);
	tcase_add_test(tests, shown);
}

int main(void)
{
	return fixture_main("verbs_mw_share", add);
}
