// SPDX-License-Identifier: MIT
/* Programs that rely on what the standard does not promise, and their corrected twins. Each passes
 * on a device that is kind; under --worst only the twin does.
 *
 *     worst_relies MISTAKE wrong|right
 *
 * Fails with the round in which something was not as the program expected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define ROUNDS 48
#define BYTES  1024u
#define FLAG   8192u /* place of a flag or a counter in a target's memory */
#define SOURCE 65536u

struct world {
	struct end a, b; /* a's requests go to b */
	struct end c, d; /* a second pair; its requests complete in a's CQ */
	bool right;
};

static bool is_filled(const uint8_t *bytes, uint32_t len, uint32_t number)
{
	static uint8_t wanted[BYTES];

	fill(wanted, len, number);
	return memcmp(bytes, wanted, len) == 0;
}

static void wait_all(struct end *end, int n)
{
	while (n-- > 0)
		ck_assert_int_eq(end_wait(end).status, IBV_WC_SUCCESS);
}

/* A byte that the device stores and the program reads. */
static uint8_t load(const uint8_t *byte)
{
	return __atomic_load_n(byte, __ATOMIC_ACQUIRE);
}

static void wait_for_byte(const uint8_t *byte, uint8_t value)
{
	while (load(byte) != value)
		;
}

/* Bytes of a round: the last byte differs from the last round's. */
static void fill_round(uint8_t *bytes, uint32_t round)
{
	fill(bytes, BYTES - 1, round);
	bytes[BYTES - 1] = (uint8_t)(round + 1);
}

static bool is_round(const uint8_t *bytes, uint32_t round)
{
	return is_filled(bytes, BYTES - 1, round) && bytes[BYTES - 1] == (uint8_t)(round + 1);
}

/* Changes the send buffer after the post, before the completion. */
static bool send_buffer(struct world *w, uint32_t round)
{
	fill_round(w->a.memory, round);
	end_post(&w->a, IBV_WR_RDMA_WRITE, round, 0, BYTES);
	if (w->right)
		wait_all(&w->a, 1);
	memset(w->a.memory, 0xee, BYTES);
	if (!w->right)
		wait_all(&w->a, 1);
	return is_round(w->b.memory, round);
}

/* Waits for a WRITE by its last byte. */
static bool write_last_byte(struct world *w, uint32_t round)
{
	bool ok;

	fill_round(w->a.memory, round);
	if (w->right) {
		end_recv(&w->b, round, FLAG, 0);
		end_post(&w->a, IBV_WR_RDMA_WRITE_WITH_IMM, round, 0, BYTES);
		wait_all(&w->b, 1);
	} else {
		end_post(&w->a, IBV_WR_RDMA_WRITE, round, 0, BYTES);
		wait_for_byte(&w->b.memory[BYTES - 1], (uint8_t)(round + 1));
	}
	ok = is_round(w->b.memory, round);
	wait_all(&w->a, 1);
	return ok;
}

/* Waits for a READ's bytes by the last one. */
static bool read_last_byte(struct world *w, uint32_t round)
{
	bool ok;

	fill_round(w->b.memory, round);
	end_post(&w->a, IBV_WR_RDMA_READ, round, 0, BYTES);
	if (w->right)
		wait_all(&w->a, 1);
	else
		wait_for_byte(&w->a.memory[BYTES - 1], (uint8_t)(round + 1));
	ok = is_round(w->a.memory, round);
	if (!w->right)
		wait_all(&w->a, 1);
	return ok;
}

/* Reads a message before its receive has completed. */
static bool receive_early(struct world *w, uint32_t round)
{
	bool ok;

	fill_round(w->a.memory, round);
	end_recv(&w->b, round, 0, BYTES);
	end_post(&w->a, IBV_WR_SEND, round, 0, BYTES);
	if (w->right)
		wait_all(&w->b, 1);
	else
		wait_for_byte(&w->b.memory[BYTES - 1], (uint8_t)(round + 1));
	ok = is_round(w->b.memory, round);
	if (!w->right)
		wait_all(&w->b, 1);
	wait_all(&w->a, 1);
	return ok;
}

/* Finds the bytes of the round before good as well: only their number has to be new. */
static bool old_bytes(struct world *w, uint32_t round)
{
	const uint8_t *number = &w->b.memory[BYTES - 1];
	bool ok;

	memset(w->a.memory, 0x11, BYTES - 1);
	w->a.memory[BYTES - 1] = (uint8_t)(round + 1);
	if (round == 0)
		memset(w->b.memory, 0x11, BYTES - 1);
	if (w->right)
		end_recv(&w->b, round, FLAG, 0);
	end_post(&w->a, w->right ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, round, 0, BYTES);
	if (w->right)
		wait_all(&w->b, 1);
	else
		wait_for_byte(number, (uint8_t)(round + 1));
	ok = load(&w->b.memory[0]) == 0x11 && load(&w->b.memory[BYTES / 2]) == 0x11;
	wait_all(&w->a, 1);
	return ok;
}

/* The queue pair that posted first completes first. */
static bool first_queue_pair_first(struct world *w, uint32_t round)
{
	struct ibv_wc first;
	bool ok;

	end_post(&w->a, IBV_WR_RDMA_WRITE, round, 0, 64);
	end_post(&w->c, IBV_WR_RDMA_WRITE, round, 0, 64);
	first = end_wait(&w->a);
	ok = w->right || first.qp_num == w->a.qp->qp_num;
	wait_all(&w->a, 1);
	return ok && first.status == IBV_WC_SUCCESS;
}

/* The send completes before its answer arrives. */
static bool send_before_answer(struct world *w, uint32_t round)
{
	struct ibv_wc first;
	bool ok;

	end_recv(&w->a, round, 0, 64);
	end_recv(&w->b, round, 0, 64);
	end_post(&w->a, IBV_WR_SEND, round, SOURCE, 64);
	wait_all(&w->b, 1);
	end_post(&w->b, IBV_WR_SEND, round, SOURCE, 64);
	first = end_wait(&w->a);
	ok = w->right || first.opcode == IBV_WC_SEND;
	wait_all(&w->a, 1);
	wait_all(&w->b, 1);
	return ok && first.status == IBV_WC_SUCCESS;
}

/* Reads a message after it has posted the buffer again. */
static bool reposted(struct world *w, uint32_t round)
{
	bool ok;

	if (round == 0)
		end_recv(&w->b, 0, 0, BYTES);
	fill_round(w->a.memory, round);
	end_post(&w->a, IBV_WR_SEND, round, 0, BYTES);
	wait_all(&w->b, 1);
	if (!w->right)
		end_recv(&w->b, round, 0, BYTES);
	ok = is_round(w->b.memory, round);
	if (w->right)
		end_recv(&w->b, round, 0, BYTES);
	wait_all(&w->a, 1);
	return ok;
}

/* Expects device memory that was just allocated to be zero. */
static bool fresh_dm(struct world *w, uint32_t round)
{
	struct ibv_alloc_dm_attr attr = { .length = BYTES };
	struct ibv_dm *dm = ibv_alloc_dm(w->a.context, &attr);
	uint8_t bytes[BYTES] = { 0 };
	bool ok = true;

	(void)round;
	ck_assert_ptr_nonnull(dm);
	if (w->right)
		ck_assert_int_eq(ibv_memcpy_to_dm(dm, 0, bytes, BYTES), 0);
	ck_assert_int_eq(ibv_memcpy_from_dm(bytes, dm, 0, BYTES), 0);
	for (uint32_t i = 0; i < BYTES; i++)
		ok &= bytes[i] == 0;
	ck_assert_int_eq(ibv_free_dm(dm), 0);
	return ok;
}

#define LIST 4

/* Requests that were posted together complete together. */
static bool all_in_one_poll(struct world *w, uint32_t round)
{
	struct ibv_send_wr wr[LIST], *bad;
	struct ibv_sge sge[LIST];
	struct ibv_wc wc[LIST];
	int n = 0, got;

	for (int i = 0; i < LIST; i++) {
		wr[i] = end_wr(&w->a, &sge[i], IBV_WR_RDMA_WRITE, round, 0, 64);
		wr[i].next = i + 1 < LIST ? &wr[i + 1] : NULL;
	}
	ck_assert_int_eq(ibv_post_send(w->a.qp, wr, &bad), 0);
	while (n == 0 || (w->right && n < LIST)) {
		got = ibv_poll_cq(w->a.cq, LIST - n, wc + n);
		ck_assert_int_ge(got, 0);
		n += got;
	}
	if (n < LIST)
		wait_all(&w->a, LIST - n);
	return n == LIST;
}

static uint64_t *word(const struct end *end)
{
	return (uint64_t *)(void *)&end->memory[FLAG];
}

/* Publishes with one queue pair what another has written. */
static bool flag_by_another(struct world *w, uint32_t round)
{
	bool ok;

	fill_round(w->a.memory, round);
	*word(&w->c) = round + 1;
	end_post(&w->a, IBV_WR_RDMA_WRITE, round, 0, BYTES);
	if (w->right)
		wait_all(&w->a, 1);
	end_post(&w->c, IBV_WR_RDMA_WRITE, round, FLAG, 8);
	while (__atomic_load_n(word(&w->d), __ATOMIC_ACQUIRE) != round + 1)
		;
	ok = is_round(w->b.memory, round);
	wait_all(&w->a, w->right ? 1 : 2);
	return ok;
}

static void post_add(struct end *end, uint32_t round)
{
	struct ibv_sge sge;
	struct ibv_send_wr *bad,
		wr = end_wr(end, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, round, FLAG, 8);

	wr.wr.atomic.remote_addr = wr.wr.rdma.remote_addr;
	wr.wr.atomic.compare_add = 1;
	ck_assert_int_eq(ibv_post_send(end->qp, &wr, &bad), 0);
}

/* The atomics of two queue pairs run in the order in which they were posted. */
static bool atomics_of_two(struct world *w, uint32_t round)
{
	*word(&w->b) = 0;
	*word(&w->d) = 0;
	w->c.peer = w->a.peer; /* both on b's word */
	post_add(&w->a, round);
	if (w->right)
		wait_all(&w->a, 1);
	post_add(&w->c, round);
	wait_all(&w->a, w->right ? 1 : 2);
	return *word(&w->a) == 0 && *word(&w->c) == 1;
}

static const struct mistake {
	const char *name;
	bool (*round)(struct world *w, uint32_t round);
	bool two_pairs;
} mistakes[] = {
	{ "send_buffer", send_buffer, false },
	{ "write_last_byte", write_last_byte, false },
	{ "read_last_byte", read_last_byte, false },
	{ "receive_early", receive_early, false },
	{ "old_bytes", old_bytes, false },
	{ "reposted", reposted, false },
	{ "fresh_dm", fresh_dm, false },
	{ "first_queue_pair_first", first_queue_pair_first, true },
	{ "send_before_answer", send_before_answer, false },
	{ "all_in_one_poll", all_in_one_poll, false },
	{ "flag_by_another", flag_by_another, true },
	{ "atomics_of_two", atomics_of_two, true },
};
#define NUM_MISTAKES (sizeof(mistakes) / sizeof(mistakes[0]))

static const struct mistake *find(const char *name)
{
	for (size_t i = 0; i < NUM_MISTAKES; i++)
		if (strcmp(mistakes[i].name, name) == 0)
			return &mistakes[i];
	return NULL;
}

/* Its requests complete in the first pair's CQ, and reach the first pair's memory. */
static void second_pair(struct world *w)
{
	const struct end_cfg of_c = { .cq = w->a.cq }, of_d = { .pd = w->b.pd };
	struct end_address c, d;

	end_open(&w->c, w->a.context, &of_c);
	end_open(&w->d, w->a.context, &of_d);
	c = end_address(&w->c);
	d = end_address(&w->d);
	end_connect(&w->c, &d);
	end_connect(&w->d, &c);
}

static const struct mistake *mistake;
static bool is_right;

START_TEST(is_so_in_each_round)
{
	static struct world w;

	w.right = is_right;
	ends_open(&w.a, &w.b, NULL);
	if (mistake->two_pairs)
		second_pair(&w);
	for (uint32_t round = 0; round < ROUNDS; round++)
		ck_assert_msg(mistake->round(&w, round), "%s: not so in round %u", mistake->name,
			      round);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, is_so_in_each_round);
}

int main(int argc, char **argv)
{
	if (argc == 3)
		mistake = find(argv[1]);
	if (mistake) {
		is_right = strcmp(argv[2], "right") == 0;
		return fixture_main("worst_relies", add);
	}
	for (size_t i = 0; i < NUM_MISTAKES; i++)
		printf("%s\n", mistakes[i].name);
	return EXIT_FAILURE;
}
