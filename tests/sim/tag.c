// SPDX-License-Identifier: MIT
/* Tag matching by the thousand: a program adds and removes tagged buffers of an SRQ, with and
 * without telling how many unexpected messages it has handled; its peer sends tagged messages over
 * a network that loses, doubles and delays packets. A model keeps the list as the manual page of
 * ibv_post_srq_ops(3) has it: each message goes to the oldest enabled buffer that takes its tag, in
 * the order of the messages, once, whole; else to a receive, with its header.
 *
 *     sim_tag [--seed N] [--count N]     count seeds from N on; --seed alone: that one */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/tag_matching.h"
#include "net/wire/packet.h"
#include "tests/sim/world.h"

#define TAGS	 8u
#define SLOT	 0x800u
#define SLOTS	 32u /* of buffers, then of receives, then of messages */
#define PHASES	 12u
#define MESSAGES 12u

/* A buffer in the program's list. */
struct buffer {
	uint64_t tag, mask, wr_id;
	uint32_t handle;
	bool is_enabled;
};

/* A message, and where the model says that it goes. */
struct message {
	uint64_t tag, wr_id;
	uint32_t len, completions;
	bool is_matched, is_valid;
};

static uint64_t seed;
static struct world w;
static struct end *a, *b;
static struct buffer list[TAGS];
static uint32_t num_listed, unexpected, handled, sent, next_recv, posted_recvs;
static uint64_t next_buffer, total;
static struct message message[MESSAGES];
static uint32_t num_messages, num_begun;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fprintf(stderr, "\nseed %llu; replay: tests/sim/sim_tag --seed %llu\n",
		      (unsigned long long)seed, (unsigned long long)seed);
	exit(EXIT_FAILURE);
}

static uint32_t throw(uint32_t limit)
{
	return link_random(&w.link, limit);
}

static uint32_t place_of(const struct message *m)
{
	return (uint32_t)(m->wr_id % SLOTS + (m->is_matched ? 0 : SLOTS)) * SLOT;
}

static uint32_t source_of(const struct message *m)
{
	return (uint32_t)(m - message) * SLOT;
}

/* The bytes are where the model says, and nothing after them has changed since the slot was
 * new. */
static void check_bytes(const struct message *m)
{
	const uint32_t skip = m->is_matched ? TMH_LEN : 0, len = m->len + TMH_LEN - skip;
	const uint8_t *to = b->node->mem + place_of(m);

	if (memcmp(to, a->node->mem + source_of(m) + skip, len) != 0 || to[len] != 0xee)
		fail("bytes of message %u", (unsigned int)(m - message));
}

/* A message begins with the completion of its receive, or with that of its match. */
static struct message *find(const struct rxe_cqe *cqe)
{
	struct message *m = &message[num_begun];
	const bool is_matched = cqe->flags & (RXE_WC_TM_MATCH | RXE_WC_TM_DATA_VALID);

	for (uint32_t i = 0; i < num_begun; i++)
		if (message[i].is_matched && is_matched && message[i].wr_id == cqe->wr_id)
			return &message[i];
	if (num_begun == num_messages || m->wr_id != cqe->wr_id || m->is_matched != is_matched)
		fail("completion %llu is not that of message %u, %llu",
		     (unsigned long long)cqe->wr_id, num_begun, (unsigned long long)m->wr_id);
	num_begun++;
	return m;
}

static void saw(void *context, struct end *end, const struct rxe_cq *cq, const struct rxe_cqe *cqe)
{
	struct message *m;

	(void)context;
	(void)cq;
	if (end == a && cqe->status == RXE_WC_SUCCESS)
		return;
	if (cqe->status != RXE_WC_SUCCESS)
		fail("%c: status %u", end->letter, cqe->status);
	m = find(cqe);
	m->completions++;
	if (!m->is_matched) {
		if (cqe->byte_len != m->len + TMH_LEN)
			fail("an unexpected message of %u bytes", cqe->byte_len);
		m->is_valid = true;
		return;
	}
	if (cqe->flags & RXE_WC_TM_MATCH && (m->completions != 1 || cqe->tm_tag != m->tag))
		fail("the match of %llu", (unsigned long long)cqe->wr_id);
	if (!(cqe->flags & RXE_WC_TM_DATA_VALID))
		return;
	if (m->is_valid || cqe->byte_len != m->len)
		fail("%llu is valid twice, or too long", (unsigned long long)cqe->wr_id);
	m->is_valid = true;
}

static void report(void)
{
	struct rxe_tm_wr wr = { .op = RXE_TM_SYNC,
				.has_count = true,
				.unexpected_cnt = unexpected };

	if (rxe_tm_post(&b->node->engine, &b->node->srq, &wr, w.now_ns) != POST_OK)
		fail("SYNC");
	handled = unexpected;
	for (uint32_t i = 0; i < num_listed; i++)
		list[i].is_enabled = true;
}

static void add(void)
{
	const uint32_t at = (uint32_t)(next_buffer % SLOTS) * SLOT;
	const struct rxe_sge sge = { b->node->base + at, SLOT - 1, b->node->key };
	const uint64_t mask = throw(3) ? UINT64_MAX : throw(4);
	struct buffer *entry = &list[num_listed];
	struct rxe_tm_wr wr = { .op = RXE_TM_ADD,
				.tag = throw(4) & mask,
				.mask = mask,
				.recv = { .wr_id = next_buffer, .num_sge = 1, .sges = &sge } };

	if (num_listed == TAGS)
		return;
	memset(b->node->mem + at, 0xee, SLOT);
	if (rxe_tm_post(&b->node->engine, &b->node->srq, &wr, w.now_ns) != POST_OK)
		fail("ADD");
	*entry = (struct buffer){ wr.tag, mask, next_buffer++, wr.handle, handled == unexpected };
	num_listed++;
}

static void unlist(uint32_t i)
{
	num_listed--;
	memmove(&list[i], &list[i + 1], (num_listed - i) * sizeof(list[0]));
}

static void del(void)
{
	const uint32_t i = throw(TAGS);
	struct rxe_tm_wr wr = { .op = RXE_TM_DEL };

	if (i >= num_listed)
		return;
	wr.handle = list[i].handle;
	if (rxe_tm_post(&b->node->engine, &b->node->srq, &wr, w.now_ns) != POST_OK)
		fail("DEL");
	unlist(i);
}

static void recv_slots(void)
{
	while (posted_recvs - next_recv < MESSAGES) {
		const uint32_t at = (SLOTS + posted_recvs % SLOTS) * SLOT;

		memset(b->node->mem + at, 0xee, SLOT);
		if (world_srq_recv(&w, b->node, posted_recvs++, at, SLOT - 1) != POST_OK)
			fail("a receive is refused");
	}
}

static void post(void)
{
	struct message *m = &message[num_messages];
	struct tmh tmh = { .op = TMH_EAGER };
	uint32_t i = 0;

	*m = (struct message){ .tag = throw(4), .len = throw(3) ? throw(200) : throw(1500) };
	tmh.tag = m->tag;
	while (i < num_listed && !(list[i].is_enabled && (m->tag & list[i].mask) == list[i].tag))
		i++;
	m->is_matched = i < num_listed;
	m->wr_id = m->is_matched ? list[i].wr_id : next_recv++;
	if (m->is_matched)
		unlist(i);
	else
		unexpected++;
	tmh_emit(a->node->mem + source_of(m), &tmh);
	memset(a->node->mem + source_of(m) + TMH_LEN, (int)(1 + sent++ % 200), m->len);
	if (world_post(&w, a,
		       (struct post){ .op = RXE_WR_SEND,
				      .len = TMH_LEN + m->len,
				      .from = source_of(m) }) != POST_OK)
		fail("post");
	num_messages++;
}

static void phase(void)
{
	num_messages = num_begun = 0;
	recv_slots();
	for (uint32_t n = throw(8); n > 0; n--) {
		if (throw(4) == 0)
			report();
		else if (throw(4) == 0)
			del();
		else
			add();
	}
	for (uint32_t n = throw(MESSAGES + 1); n > 0; n--)
		post();
	world_run(&w);
	if (num_begun != num_messages)
		fail("%u of %u messages came", num_begun, num_messages);
	for (uint32_t i = 0; i < num_messages; i++) {
		if (!message[i].is_valid)
			fail("message %u is not valid", i);
		check_bytes(&message[i]);
	}
	if (b->node->tags.num != num_listed || b->node->tags.unexpected != unexpected)
		fail("%u listed, the model has %u", b->node->tags.num, num_listed);
	total += num_messages;
}

static void run(void)
{
	struct node_qp_opts opts = world_opts(), other;
	struct node *x, *y;

	world_init(&w, seed);
	w.trace.quiet = true;
	w.mem_len = 2 * SLOTS * SLOT;
	x = world_add_node(&w);
	y = world_add_node(&w);
	node_match_tags(y, TAGS);
	opts.mtu = 256;
	opts.depth = 64;
	if (throw(2))
		node_hold(y);
	other = opts;
	other.psn = 500;
	other.use_srq = true;
	a = node_add_qp(x, 'a', &opts);
	b = node_add_qp(y, 'b', &other);
	node_connect(a, b, &opts, other.psn);
	node_connect(b, a, &other, opts.psn);
	w.watch.completion = saw;
	w.link.dice = (struct link_dice){ throw(30), throw(30), throw(60), throw(10), 20000 };
	num_listed = unexpected = handled = sent = next_recv = posted_recvs = 0;
	next_buffer = 0;
	for (uint32_t i = 0; i < PHASES; i++)
		phase();
	world_fini(&w);
}

int main(int argc, char **argv)
{
	uint64_t first = 1, count = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			first = strtoull(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--count") == 0)
			count = strtoull(argv[i + 1], NULL, 0);
	}
	if (count == 0)
		count = argc > 1 ? 1 : 1000;
	for (seed = first; seed < first + count; seed++)
		run();
	(void)printf("%llu lives, %llu messages\n", (unsigned long long)count,
		     (unsigned long long)total);
	return EXIT_SUCCESS;
}
