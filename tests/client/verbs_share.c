// SPDX-License-Identifier: MIT
/* Three processes: an owner, who registers memory and hands its context on; a middle, who imports
 * it and builds a queue pair on the imported domain; and a third, who talks to the middle and
 * reaches the owner's memory.
 *
 * RXE_TEST_SHY=1: the owner cannot be traced, so that no process may copy to it but itself.
 * RXE_DM_NO_VM=1: no process even tries. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define BYTES 65536u

/* What the owner reports to the middle. */
struct letter {
	uint32_t pd, mr, rkey;
	uint64_t addr;
};

enum word {
	WORD_CHECK, /* your memory is filled with .number; clear it */
	WORD_FILL,  /* fill it with .number */
	WORD_COUNT, /* its first word counts .number */
	WORD_FREE,  /* the region */
	WORD_END,
};

struct order {
	enum word word;
	uint32_t number, len;
};

static void order(int sock, enum word word, uint32_t number, uint32_t len)
{
	struct order order = { word, number, len };

	ck_assert_int_eq(send(sock, &order, sizeof(order), MSG_NOSIGNAL), sizeof(order));
	meet(sock);
}

static void own(int sock)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *memory = aligned_alloc(4096, BYTES);
	struct letter letter;
	struct order order = { WORD_CHECK, 0, 0 };

	if (getenv("RXE_TEST_SHY"))
		ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 0), 0);
	context = fixture_open();
	pd = ibv_alloc_pd(context);
	memset(memory, 0, BYTES);
	mr = ibv_reg_mr(pd, memory, BYTES, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(mr);
	letter = (struct letter){ pd->handle, mr->handle, mr->rkey, (uintptr_t)memory };
	give_fd(sock, context->cmd_fd);
	ck_assert_int_eq(send(sock, &letter, sizeof(letter), 0), sizeof(letter));
	while (order.word != WORD_END) {
		ck_assert_int_eq(recv(sock, &order, sizeof(order), MSG_WAITALL), sizeof(order));
		switch (order.word) {
		case WORD_CHECK:
			expect_filled(memory, order.len, order.number);
			memset(memory, 0, order.len);
			break;
		case WORD_FILL: fill(memory, order.len, order.number); break;
		case WORD_COUNT:
			ck_assert_uint_eq(*(uint64_t *)(void *)memory, order.number);
			break;
		case WORD_FREE:
			ck_assert_int_eq(ibv_dereg_mr(mr), 0);
			mr = NULL;
			break;
		case WORD_END: break;
		}
		meet(sock);
	}
	if (mr)
		ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
	free(memory);
}

/* The third: writes, reads and adds to what the middle says is its memory, for as long as it is
 * asked to. */
struct request {
	enum ibv_wr_opcode opcode;
	uint32_t number, len;
	enum ibv_wc_status status;
	bool end;
};

static void third(int sock)
{
	struct request request;
	struct end_address peer;
	struct end end;

	end_open(&end, NULL, NULL);
	peer = swap_addresses(sock, &end);
	end_connect(&end, &peer);
	meet(sock);
	for (;;) {
		ck_assert_int_eq(recv(sock, &request, sizeof(request), MSG_WAITALL),
				 sizeof(request));
		if (request.end)
			break;
		if (request.opcode == IBV_WR_RDMA_WRITE)
			fill(end.memory, request.len, request.number);
		end_post(&end, request.opcode, 1, 0, request.len);
		end_wait_for(&end, 1, request.status);
		if (request.opcode == IBV_WR_RDMA_READ && request.status == IBV_WC_SUCCESS)
			expect_filled(end.memory, request.len, request.number);
		meet(sock);
	}
	end_close(&end);
}

static void send_out(int sock, enum ibv_wr_opcode opcode, uint32_t number, uint32_t len,
		     enum ibv_wc_status status)
{
	struct request request = { opcode, number, len, status, false };

	ck_assert_int_eq(send(sock, &request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
	meet(sock);
}

struct middle {
	pid_t owner, third;
	int to_owner, to_third;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct letter letter;
	struct end end; /* to the third, who is told the owner's key */
};

static void middle_open(struct middle *m)
{
	struct end_cfg cfg = { 0 };
	struct end_address mine, theirs;
	int fd;

	m->to_owner = beside(own, &m->owner);
	m->to_third = beside(third, &m->third);
	fd = take_fd(m->to_owner);
	ck_assert_int_eq(recv(m->to_owner, &m->letter, sizeof(m->letter), MSG_WAITALL),
			 sizeof(m->letter));
	m->context = ibv_import_device(fd);
	ck_assert_ptr_nonnull(m->context);
	close(fd);
	m->pd = ibv_import_pd(m->context, m->letter.pd);
	ck_assert_ptr_nonnull(m->pd);
	m->mr = ibv_import_mr(m->pd, m->letter.mr);
	ck_assert_ptr_nonnull(m->mr);
	ck_assert_uint_eq(m->mr->rkey, m->letter.rkey);
	ck_assert_ptr_null(m->mr->addr); /* it has no address here */
	cfg.pd = m->pd;
	end_open(&m->end, m->context, &cfg);
	mine = end_address(&m->end);
	mine.rkey = m->letter.rkey;
	mine.addr = m->letter.addr;
	ck_assert_int_eq(send(m->to_third, &mine, sizeof(mine), 0), sizeof(mine));
	ck_assert_int_eq(recv(m->to_third, &theirs, sizeof(theirs), MSG_WAITALL), sizeof(theirs));
	end_connect(&m->end, &theirs);
	meet(m->to_third);
}

static void middle_close(struct middle *m)
{
	struct request end = { .end = true };

	ck_assert_int_eq(send(m->to_third, &end, sizeof(end), MSG_NOSIGNAL), sizeof(end));
	join(m->third, m->to_third);
	end_close(&m->end);
	ibv_unimport_mr(m->mr);
	ibv_unimport_pd(m->pd);
	ck_assert_int_eq(ibv_close_device(m->context), 0);
}

static void end_owner(struct middle *m)
{
	order(m->to_owner, WORD_END, 0, 0);
	join(m->owner, m->to_owner);
}

/* A request of the middle's own, with the imported lkey. */
static void post_from_owner(struct middle *m, enum ibv_wr_opcode opcode, uint32_t len,
			    enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = end_wr(&m->end, &sge, opcode, 7, 0, len), *bad;

	sge = (struct ibv_sge){ m->letter.addr, len, m->mr->lkey };
	ck_assert_int_eq(ibv_post_send(m->end.qp, &wr, &bad), 0);
	end_wait_for(&m->end, 7, status);
}

START_TEST(third_reaches_the_owner)
{
	static const uint32_t lens[] = { 1, 8, 13, 4096, 5000, BYTES };
	struct middle m;

	middle_open(&m);
	for (uint32_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		send_out(m.to_third, IBV_WR_RDMA_WRITE, i, lens[i], IBV_WC_SUCCESS);
		order(m.to_owner, WORD_CHECK, i, lens[i]);
		order(m.to_owner, WORD_FILL, i + 100, lens[i]);
		send_out(m.to_third, IBV_WR_RDMA_READ, i + 100, lens[i], IBV_WC_SUCCESS);
		order(m.to_owner, WORD_CHECK, i + 100, lens[i]);
	}
	middle_close(&m);
	end_owner(&m);
}
END_TEST

START_TEST(atomics_reach_the_owner)
{
	struct middle m;

	middle_open(&m);
	/* The third's operand is 0 and 0; the middle adds for it. */
	send_out(m.to_third, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, IBV_WC_SUCCESS);
	send_out(m.to_third, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, IBV_WC_SUCCESS);
	order(m.to_owner, WORD_COUNT, 0, 0);
	middle_close(&m);
	end_owner(&m);
}
END_TEST

/* To itself over the wire: a queue pair of the middle connected to another of its own, on the
 * imported domain. */
START_TEST(atomics_count)
{
	struct middle m;
	struct end_cfg cfg = { 0 };
	struct end a, b;
	struct end_address of_a, of_b;
	struct ibv_sge sge;

	middle_open(&m);
	cfg.pd = m.pd;
	end_open(&a, m.context, &cfg);
	end_open(&b, m.context, &cfg);
	of_a = end_address(&a);
	of_b = end_address(&b);
	of_b.rkey = m.letter.rkey;
	of_b.addr = m.letter.addr;
	end_connect(&a, &of_b);
	end_connect(&b, &of_a);
	for (uint64_t i = 0; i < 200; i++) {
		struct ibv_send_wr wr = end_wr(&a, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, i, 0, 8);
		struct ibv_send_wr *bad;

		wr.wr.atomic.compare_add = 1;
		ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		ck_assert_uint_eq(*(uint64_t *)(void *)a.memory, i);
	}
	order(m.to_owner, WORD_COUNT, 200, 0);
	end_close(&a);
	end_close(&b);
	middle_close(&m);
	end_owner(&m);
}
END_TEST

START_TEST(imported_lkey)
{
	struct middle m;

	middle_open(&m);
	order(m.to_owner, WORD_FILL, 5, BYTES);
	post_from_owner(&m, IBV_WR_RDMA_WRITE, BYTES, IBV_WC_SUCCESS); /* to the third */
	order(m.to_owner, WORD_FILL, 6, BYTES);
	post_from_owner(&m, IBV_WR_RDMA_READ, BYTES, IBV_WC_SUCCESS); /* and back */
	order(m.to_owner, WORD_CHECK, 5, BYTES);
	middle_close(&m);
	end_owner(&m);
}
END_TEST

START_TEST(region_freed)
{
	struct middle m;

	middle_open(&m);
	send_out(m.to_third, IBV_WR_RDMA_WRITE, 1, 64, IBV_WC_SUCCESS);
	order(m.to_owner, WORD_FREE, 0, 0);
	send_out(m.to_third, IBV_WR_RDMA_WRITE, 1, 64, IBV_WC_REM_ACCESS_ERR);
	middle_close(&m);
	end_owner(&m);
}
END_TEST

static void kill_owner(struct middle *m)
{
	int status;

	kill(m->owner, SIGKILL);
	ck_assert_int_eq(waitpid(m->owner, &status, 0), m->owner);
	close(m->to_owner);
}

START_TEST(owner_killed)
{
	struct middle m;

	middle_open(&m);
	kill_owner(&m);
	send_out(m.to_third, IBV_WR_RDMA_WRITE, 1, 64, IBV_WC_REM_ACCESS_ERR);
	middle_close(&m);
}
END_TEST

START_TEST(owner_killed_local)
{
	struct middle m;

	middle_open(&m);
	kill_owner(&m);
	post_from_owner(&m, IBV_WR_RDMA_WRITE, 64, IBV_WC_LOC_PROT_ERR);
	middle_close(&m);
}
END_TEST

/* All its threads stand still when this returns: one of them might serve a request yet. */
static void stop_owner(const struct middle *m)
{
	int status;

	kill(m->owner, SIGSTOP);
	ck_assert_int_eq(waitpid(m->owner, &status, WUNTRACED), m->owner);
	ck_assert(WIFSTOPPED(status));
}

/* The importer waits for a stopped owner, within a bound. */
START_TEST(owner_stopped)
{
	struct middle m;

	middle_open(&m);
	stop_owner(&m);
	send_out(m.to_third, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8, IBV_WC_REM_ACCESS_ERR);
	kill(m.owner, SIGCONT);
	middle_close(&m);
	end_owner(&m);
}
END_TEST

/* Another atomic on the owner's memory, by a pair of our own. */
static enum ibv_wc_status add_zero(struct middle *m)
{
	struct end_cfg cfg = { .pd = m->pd };
	struct end_address of_a, of_b;
	enum ibv_wc_status status;
	struct end a, b;

	end_open(&a, m->context, &cfg);
	end_open(&b, m->context, &cfg);
	of_a = end_address(&a);
	of_b = end_address(&b);
	of_b.rkey = m->letter.rkey;
	of_b.addr = m->letter.addr;
	end_connect(&a, &of_b);
	end_connect(&b, &of_a);
	end_post(&a, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8);
	status = end_wait(&a).status;
	end_close(&b);
	end_close(&a);
	return status;
}

/* One wait for all accesses: at half a second each, these would not end before the runner's time
 * limit. And once it goes on, it serves again. */
START_TEST(owner_stopped_for_long)
{
	struct middle m;

	middle_open(&m);
	ck_assert_int_eq(add_zero(&m), IBV_WC_SUCCESS);
	stop_owner(&m);
	for (int i = 0; i < 150; i++)
		ck_assert_int_eq(add_zero(&m), IBV_WC_REM_ACCESS_ERR);
	kill(m.owner, SIGCONT);
	while (add_zero(&m) != IBV_WC_SUCCESS)
		;
	middle_close(&m);
	end_owner(&m);
}
END_TEST

/* What another process does with the memory of an owner who is stopped: kinds of access that its
 * engine, or the kernel, must help with. */
enum access {
	ACCESS_ADD,	 /* an atomic from a peer */
	ACCESS_WRITTEN,	 /* a write from a peer */
	ACCESS_READ,	 /* a read from a peer */
	ACCESS_RECEIVED, /* a message from a peer */
	ACCESS_SENT,	 /* sent from there */
	ACCESS_LANDED,	 /* a read's answer goes there */
	ACCESS_KINDS,
};

struct pair {
	struct end a, b;
};

/* Two ends of the middle's own. */
static void pair_open(struct middle *m, struct pair *pair, const struct end_address *instead)
{
	struct end_cfg cfg = { .pd = m->pd };
	struct end_address of_a, of_b;

	end_open(&pair->a, m->context, &cfg);
	end_open(&pair->b, m->context, &cfg);
	of_a = end_address(&pair->a);
	of_b = end_address(&pair->b);
	if (instead) {
		of_b.rkey = instead->rkey;
		of_b.addr = instead->addr;
	}
	end_connect(&pair->a, &of_b);
	end_connect(&pair->b, &of_a);
}

static void pair_close(struct pair *pair)
{
	end_close(&pair->b);
	end_close(&pair->a);
}

static void post_access(struct middle *m, struct pair *pair, enum access access, uint32_t len)
{
	struct ibv_sge there = { m->letter.addr, len, m->mr->lkey }, sge;
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = &there, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = end_wr(&pair->a, &sge, IBV_WR_RDMA_WRITE, 1, 0, len), *bad;

	switch (access) {
	case ACCESS_ADD:
		wr = end_wr(&pair->a, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8);
		wr.wr.atomic.compare_add = 1;
		break;
	case ACCESS_WRITTEN: break;
	case ACCESS_READ: wr.opcode = IBV_WR_RDMA_READ; break;
	case ACCESS_RECEIVED:
		wr.opcode = IBV_WR_SEND;
		ck_assert_int_eq(ibv_post_recv(pair->b.qp, &recv, &bad_recv), 0);
		break;
	case ACCESS_SENT: wr.sg_list = &there; break;
	case ACCESS_LANDED:
		wr.opcode = IBV_WR_RDMA_READ;
		wr.sg_list = &there;
		break;
	case ACCESS_KINDS: break;
	}
	ck_assert_int_eq(ibv_post_send(pair->a.qp, &wr, &bad), 0);
}

static bool is_in_owner(enum access access)
{
	return access == ACCESS_ADD || access == ACCESS_WRITTEN || access == ACCESS_READ;
}

/* The owner stands still, and only the queue pair that needs it waits: another one goes on at its
 * pace. Then it goes on, and what was late has happened, once. */
static void access_of_a_stopped_owner(struct middle *m, struct pair *other, enum access access)
{
	const struct end_address owner = { .rkey = m->letter.rkey, .addr = m->letter.addr };
	uint32_t len = access == ACCESS_ADD ? 8 : 5000;
	struct pair pair;

	pair_open(m, &pair, is_in_owner(access) ? &owner : NULL);
	fill(pair.a.memory, len, 1);
	fill(pair.b.memory, len, 3);
	order(m->to_owner, WORD_FILL, 2, len);
	if (access == ACCESS_ADD)
		order(m->to_owner, WORD_CHECK, 2, len); /* and clear it */
	stop_owner(m);
	post_access(m, &pair, access, len);
	/* Few: within the 500 ms that an access waits, on a slow machine too. */
	for (uint64_t i = 0; i < 10; i++) {
		end_post(&other->a, IBV_WR_RDMA_WRITE, i, 0, 64);
		end_wait_for(&other->a, i, IBV_WC_SUCCESS);
	}
	if (access == ACCESS_ADD || getenv("RXE_DM_NO_VM") || getenv("RXE_TEST_SHY"))
		end_expect_nothing(&pair.a);
	kill(m->owner, SIGCONT);
	end_wait_for(&pair.a, 1, IBV_WC_SUCCESS);
	if (access == ACCESS_RECEIVED)
		end_wait_for(&pair.b, 2, IBV_WC_SUCCESS);
	if (access == ACCESS_READ)
		expect_filled(pair.a.memory, len, 2);
	if (access == ACCESS_SENT)
		expect_filled(pair.b.memory, len, 2);
	if (access == ACCESS_ADD)
		order(m->to_owner, WORD_COUNT, 1, 0);
	if (access == ACCESS_WRITTEN || access == ACCESS_RECEIVED)
		order(m->to_owner, WORD_CHECK, 1, len);
	if (access == ACCESS_LANDED)
		order(m->to_owner, WORD_CHECK, 3, len);
	pair_close(&pair);
}

START_TEST(others_go_on)
{
	struct middle m;
	struct pair other;

	middle_open(&m);
	pair_open(&m, &other, NULL);
	access_of_a_stopped_owner(&m, &other, (enum access)_i);
	pair_close(&other);
	middle_close(&m);
	end_owner(&m);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, third_reaches_the_owner);
	tcase_add_test(tests, atomics_reach_the_owner);
	tcase_add_test(tests, atomics_count);
	tcase_add_test(tests, imported_lkey);
	tcase_add_test(tests, region_freed);
	tcase_add_test(tests, owner_killed);
	tcase_add_test(tests, owner_killed_local);
	tcase_add_test(tests, owner_stopped);
	tcase_add_test(tests, owner_stopped_for_long);
	tcase_add_loop_test(tests, others_go_on, 0, ACCESS_KINDS);
}

int main(void)
{
	return fixture_main("verbs_share", add);
}
