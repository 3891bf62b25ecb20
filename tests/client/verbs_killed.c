// SPDX-License-Identifier: MIT
/* Kill -9 at random points. In each round three processes share: an exporter, who owns a domain, a
 * region and device memory; an importer of all three, who builds a queue pair on the imported
 * domain; and a third, who reaches the exporter's memory through the importer. One of them is
 * killed, sooner or later; the other two notice by an error or by nothing at all, put away what
 * they have, and end well. Every tenth round no process is killed. The runner looks at what is
 * left.
 *
 * RXE_TEST_SEED: the random numbers. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

#define CHUNKS	 10
#define ROUNDS	 23 /* of them 3 without a death */
#define BYTES	 65536u
#define DM_BYTES 8192u
#define WAIT_MS	 2

enum role { EXPORTER, IMPORTER, THIRD, ROLES };

/* Seen by all processes of a round. */
struct board {
	_Atomic bool stop;
	_Atomic uint64_t done[ROLES]; /* what it has got done since it has all it needs */
	_Atomic bool failed[ROLES];   /* it gave up before it was told to stop */
};

struct letter {
	uint32_t pd, mr, dm, dm_mr;
	uint32_t rkey, dm_rkey;
	uint64_t addr;
};

static struct board *board;

static bool stop(void)
{
	return atomic_load(&board->stop);
}

/* All of it, unless the other has gone or it is time to stop. */
static bool hear(int sock, void *bytes, size_t len)
{
	struct pollfd pollfd = { .fd = sock, .events = POLLIN };

	while (poll(&pollfd, 1, WAIT_MS) <= 0) {
		if (stop())
			return false;
	}
	return recv(sock, bytes, len, MSG_WAITALL) == (ssize_t)len;
}

static bool tell(int sock, const void *bytes, size_t len)
{
	return send(sock, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static int hear_fd(int sock)
{
	struct pollfd pollfd = { .fd = sock, .events = POLLIN };

	while (poll(&pollfd, 1, WAIT_MS) <= 0) {
		if (stop())
			return -1;
	}
	return receive_fd(sock);
}

/* Give up; whether that was right is asked when the round is over. */
static void wait_for_stop(enum role role)
{
	atomic_store(&board->failed[role], !stop());
	while (!stop())
		poll(NULL, 0, WAIT_MS);
}

/* The next completion, or nothing when it is time to stop. False: that, or it failed. */
static bool succeed(struct end *end)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(end->cq, 1, &wc) == 0) {
		if (stop())
			return false;
	}
	return wc.status == IBV_WC_SUCCESS;
}

static bool swap(int sock, const struct end_address *mine, struct end_address *ret)
{
	return tell(sock, mine, sizeof(*mine)) && hear(sock, ret, sizeof(*ret));
}

/* Owns everything; then registers and copies on and on. */
static void exporter(int to_importer)
{
	struct ibv_alloc_dm_attr attr = { .length = DM_BYTES };
	struct ibv_context *context = fixture_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_dm *dm = ibv_alloc_dm(context, &attr);
	uint8_t *memory = calloc(1, BYTES);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, BYTES, FIXTURE_ALL_RIGHTS), *dm_mr, *more;
	struct letter letter;
	int err;

	ck_assert_ptr_nonnull(dm);
	ck_assert_ptr_nonnull(mr);
	dm_mr = ibv_reg_dm_mr(pd, dm, 0, DM_BYTES,
			      (unsigned int)FIXTURE_ALL_RIGHTS | IBV_ACCESS_ZERO_BASED);
	ck_assert_ptr_nonnull(dm_mr);
	letter = (struct letter){ pd->handle, mr->handle,  dm->handle,	     dm_mr->handle,
				  mr->rkey,   dm_mr->rkey, (uintptr_t)memory };
	if (!send_fd(to_importer, context->cmd_fd) || !tell(to_importer, &letter, sizeof(letter)))
		wait_for_stop(EXPORTER);
	while (!stop()) {
		more = ibv_reg_mr(pd, memory, 100, IBV_ACCESS_LOCAL_WRITE);
		ck_assert_ptr_nonnull(more);
		ck_assert_int_eq(ibv_memcpy_to_dm(dm, 4096, memory, 64), 0);
		ck_assert_int_eq(ibv_dereg_mr(more), 0);
		atomic_fetch_add(&board->done[EXPORTER], 1);
	}
	ck_assert_int_eq(ibv_dereg_mr(dm_mr), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	/* An importer, alive or not yet buried, may use these still; then they go with the
	 * context. */
	err = ibv_free_dm(dm);
	ck_assert(err == 0 || err == EBUSY);
	err = ibv_dealloc_pd(pd);
	ck_assert(err == 0 || err == EBUSY);
	ck_assert_int_eq(ibv_close_device(context), 0);
	free(memory);
}

struct imported {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr, *own; /* the exporter's region; ours over its device memory */
	struct letter letter;
	struct end end;
	bool has_end;
};

/* The context lives on in the descriptor even if its first process has gone, and so do its domain
 * and device memory; not the region, which is over that process's memory. */
static bool import_all(struct imported *im, int to_exporter)
{
	int fd = hear_fd(to_exporter);

	if (fd < 0 || !hear(to_exporter, &im->letter, sizeof(im->letter))) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	im->context = ibv_import_device(fd);
	close(fd);
	ck_assert_ptr_nonnull(im->context);
	im->pd = ibv_import_pd(im->context, im->letter.pd);
	ck_assert_msg(im->pd || stop(), "import_pd: %s", strerror(errno));
	im->dm = ibv_import_dm(im->context, im->letter.dm);
	ck_assert_msg(im->dm || stop(), "import_dm: %s", strerror(errno));
	if (!im->pd || !im->dm)
		return false; /* its owner was told to stop, and has put it away */
	im->own = ibv_reg_dm_mr(im->pd, im->dm, 0, DM_BYTES,
				(unsigned int)FIXTURE_ALL_RIGHTS | IBV_ACCESS_ZERO_BASED);
	im->mr = ibv_import_mr(im->pd, im->letter.mr);
	return im->own && im->mr;
}

static bool meet_third(struct imported *im, int to_third)
{
	struct end_cfg cfg = { .pd = im->pd };
	struct end_address mine, theirs;

	end_open(&im->end, im->context, &cfg);
	im->has_end = true;
	mine = end_address(&im->end);
	mine.rkey = im->letter.rkey;
	mine.addr = im->letter.addr;
	if (!tell(to_third, &im->letter, sizeof(im->letter)) || !swap(to_third, &mine, &theirs))
		return false;
	end_connect(&im->end, &theirs);
	return tell(to_third, "!", 1);
}

/* Reads and writes the device memory, sends the exporter's bytes to the third, and lets go of the
 * region to take it again. */
static bool use_imported(struct imported *im)
{
	uint8_t bytes[64];
	struct ibv_sge sge;
	struct ibv_send_wr wr = end_wr(&im->end, &sge, IBV_WR_RDMA_WRITE, 1, 0, 4096), *bad;

	if (ibv_memcpy_from_dm(bytes, im->dm, 4096, sizeof(bytes)) ||
	    ibv_memcpy_to_dm(im->dm, 0, bytes, sizeof(bytes)))
		return false;
	sge = (struct ibv_sge){ im->letter.addr, 4096, im->mr->lkey };
	if (ibv_post_send(im->end.qp, &wr, &bad) || !succeed(&im->end))
		return false;
	ibv_unimport_mr(im->mr);
	im->mr = ibv_import_mr(im->pd, im->letter.mr);
	return im->mr != NULL;
}

static void put_away(struct imported *im)
{
	if (im->has_end) {
		im->end.cfg.pd = im->pd;
		end_close(&im->end);
	}
	if (im->mr)
		ibv_unimport_mr(im->mr);
	if (im->own)
		ck_assert_int_eq(ibv_dereg_mr(im->own), 0);
	if (im->dm)
		ibv_unimport_dm(im->dm);
	if (im->pd)
		ibv_unimport_pd(im->pd);
	if (im->context)
		ck_assert_int_eq(ibv_close_device(im->context), 0);
}

static void importer(int to_exporter, int to_third)
{
	struct imported im = { 0 };

	if (import_all(&im, to_exporter) && meet_third(&im, to_third)) {
		while (!stop() && use_imported(&im))
			atomic_fetch_add(&board->done[IMPORTER], 1);
	}
	wait_for_stop(IMPORTER);
	put_away(&im);
}

/* Writes to the exporter's memory, reads it back, and adds to a word of its device memory, all
 * through the importer. */
static bool use_remote(struct end *end, const struct letter *letter)
{
	struct ibv_sge sge;
	struct ibv_send_wr add = end_wr(end, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 0, 8), *bad;

	end_post(end, IBV_WR_RDMA_WRITE, 1, 0, 10000);
	if (!succeed(end))
		return false;
	end_post(end, IBV_WR_RDMA_READ, 2, 0, 10000);
	if (!succeed(end))
		return false;
	add.wr.atomic.remote_addr = 64;
	add.wr.atomic.rkey = letter->dm_rkey;
	return ibv_post_send(end->qp, &add, &bad) == 0 && succeed(end);
}

static void third(int to_importer)
{
	struct end_address mine, peer;
	struct letter letter;
	struct end end;
	char c;

	end_open(&end, NULL, NULL);
	mine = end_address(&end);
	if (hear(to_importer, &letter, sizeof(letter)) && swap(to_importer, &mine, &peer)) {
		end_connect(&end, &peer);
		if (hear(to_importer, &c, 1)) {
			while (!stop() && use_remote(&end, &letter))
				atomic_fetch_add(&board->done[THIRD], 1);
		}
	}
	wait_for_stop(THIRD);
	end_close(&end);
}

static pid_t start(enum role role, const int left[2], const int right[2])
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid)
		return pid;
	/* The end that is left must see that the other one is dead. */
	if (role != EXPORTER)
		close(left[0]);
	if (role != IMPORTER) {
		close(left[1]);
		close(right[0]);
	}
	if (role != THIRD)
		close(right[1]);
	switch (role) {
	case EXPORTER: exporter(left[0]); break;
	case IMPORTER: importer(left[1], right[0]); break;
	case THIRD: third(right[1]); break;
	case ROLES: break;
	}
	exit(0);
}

/* How far they come depends on the machine: a while until the third is served, then anywhere in the
 * next milliseconds. */
static void let_run(bool all_the_way)
{
	struct timespec while_ns = { .tv_nsec = (random() % 12000) * 1000 };

	nanosleep(&while_ns, NULL);
	while (all_the_way && atomic_load(&board->done[THIRD]) < 3 &&
	       !atomic_load(&board->failed[IMPORTER]) && !atomic_load(&board->failed[THIRD]))
		poll(NULL, 0, 1);
}

static void round_of(uint32_t number, enum role victim)
{
	pid_t pid[ROLES];
	int left[2], right[2], status;

	*board = (struct board){ 0 };
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, left), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, right), 0);
	for (enum role role = EXPORTER; role < ROLES; role++)
		pid[role] = start(role, left, right);
	for (int i = 0; i < 2; i++) {
		close(left[i]);
		close(right[i]);
	}
	let_run(victim == ROLES || number % 2);
	if (victim < ROLES) {
		kill(pid[victim], SIGKILL);
		let_run(false); /* the others go on without */
	} else {
		for (enum role role = EXPORTER; role < ROLES; role++)
			ck_assert_msg(!atomic_load(&board->failed[role]),
				      "round %u: role %d gave up, and nobody had died", number,
				      role);
	}
	atomic_store(&board->stop, true);
	for (enum role role = EXPORTER; role < ROLES; role++) {
		ck_assert_int_eq(waitpid(pid[role], &status, 0), pid[role]);
		ck_assert_msg(role == victim || (WIFEXITED(status) && WEXITSTATUS(status) == 0),
			      "round %u, %d killed: role %d ended with status 0x%x", number, victim,
			      role, (unsigned int)status);
	}
}

START_TEST(anybody_anywhere)
{
	const char *seed = getenv("RXE_TEST_SEED");
	uint32_t deaths = 0;

	srandom((unsigned int)_i + (seed ? (unsigned int)atoi(seed) : 1));
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	ck_assert_ptr_ne(board, MAP_FAILED);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		enum role victim = i % 10 == 9 || i == 0 ? ROLES : (enum role)(random() % ROLES);

		/* Half of them with the owner's engine at work on its memory, instead of the
		 * kernel. */
		setenv("RXE_DM_NO_VM", i % 4 < 2 ? "0" : "1", 1);
		round_of(i, victim);
		deaths += victim < ROLES;
	}
	ck_assert_uint_eq(deaths, 20);
	munmap(board, sizeof(*board));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, anybody_anywhere, 0, CHUNKS);
}

int main(void)
{
	return fixture_main("verbs_killed", add);
}
