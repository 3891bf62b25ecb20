// SPDX-License-Identifier: MIT
/* Memory links: a process is killed at any instruction, while it sends and receives. Its peer gets
 * whole packets in order up to the last one, goes on, and serves the slot's next process, or the
 * server in its place; a third process notices nothing.
 *
 * RXE_TEST_SEED: the random numbers. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net/link/memory/private.h"
#include "tests/suite.h"
#include "tests/unit/memory_fixture.h"

#define ROUNDS	   40
#define MOST_SEGS  20u
#define MOST_BYTES 1024u
#define MOST_TURNS 500

/* What one side has sent and received. Numbers begin at 0 with each process. */
struct stream {
	struct link *link;
	uint32_t from, to;
	uint32_t next_out, next_in;
	bool has_in; /* next_in is known */
};

/* A train with a number in each packet, and bytes that follow from it. A train that is dropped,
 * because the other side was not given a processor for long, does not count. */
static void send_some(struct stream *s)
{
	const uint64_t dropped = s->link->stats.send_errors;
	const uint32_t segs = 1 + s->next_out % MOST_SEGS,
		       len = 64 + s->next_out % (MOST_BYTES / 64) * 64;

	make_train(s->from, s->to, segs, len, len);
	for (uint32_t i = 0; i < segs; i++) {
		const uint32_t number = s->next_out + i;
		uint8_t *p = wire_train_packet(&train, i);

		memcpy(p + 8, &number, sizeof(number));
		memset(p + 12, (int)(number & 0xff), len - 12);
	}
	if (link_send(s->link, &train, 1) == 1 && s->link->stats.send_errors == dropped)
		s->next_out += segs;
}

static void check_packet(struct stream *s, const struct wire_arrival *arrival)
{
	uint8_t want[MOST_BYTES];
	uint32_t number;

	memcpy(&number, arrival->p + 8, sizeof(number));
	if (!s->has_in)
		s->next_in = number;
	s->has_in = true;
	ck_assert_uint_eq(number, s->next_in);
	ck_assert_uint_le(arrival->len, MOST_BYTES);
	memset(want, (int)(number & 0xff), sizeof(want));
	ck_assert_mem_eq(arrival->p + 12, want, arrival->len - 12);
	s->next_in++;
}

static uint32_t receive_some(struct stream *s)
{
	const int n = link_receive(s->link, got, 256);

	for (int i = 0; i < n; i++)
		check_packet(s, &got[i]);
	return (uint32_t)n;
}

/* Sends and receives until it is killed. */
static void run_child(void)
{
	struct stream s = { .from = B, .to = A, .has_in = true };
	const struct memory_cfg cfg = { .gid = gid,
					.slot = B,
					.hub_fd = hub.fd,
					.file_fd = hub.slot[B].fd,
					.doorbell_fd = hub.slot[B].doorbell,
					.bells = hub.bells,
					.meet = memory_hub_meet,
					.meet_arg = &hub,
					.trains = true };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	s.link = open_with(&cfg);
	for (;;) {
		send_some(&s);
		(void)receive_some(&s);
	}
}

static pid_t start_child(void)
{
	pid_t pid;

	ck_assert_int_eq(memory_hub_attach(&hub, B), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		run_child();
	return pid;
}

static void kill_child(pid_t pid)
{
	int status;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* The server goes on in the middle of both rings. */
static void resume(struct stream *s)
{
	struct stream server = { .link = resume_slot(B), .from = B, .to = A };

	while (receive_some(&server) > 0)
		;
	if (server.has_in)
		ck_assert_uint_eq(server.next_in, s->next_out);
	make_train(B, A, 1, 64, 64);
	memcpy(buf + 8, &s->next_in, sizeof(s->next_in));
	memset(buf + 12, (int)(s->next_in & 0xff), 52);
	send_ok(server.link);
	ck_assert_uint_eq(receive_some(s), 1);
	link_close(server.link);
}

static void one_round(bool has_server)
{
	struct stream s = { .link = a, .from = A, .to = B, .has_in = true };
	const pid_t pid = start_child();
	const int turns = rand() % MOST_TURNS;

	while (receive_some(&s) == 0)
		;
	for (int i = 0; i < turns; i++) {
		send_some(&s);
		(void)receive_some(&s);
	}
	kill_child(pid);
	while (receive_some(&s) > 0)
		;
	if (has_server)
		resume(&s);
	memory_hub_detach(&hub, B);
	while (receive_some(&s) > 0)
		;
	ck_assert(memory_hub_reap(&hub, B));
	ck_assert_uint_eq(a->stats.bad_frames, 0);
}

static void bystanders_go_on(struct link *c)
{
	make_train(C, A, 3, 64, 64);
	send_ok(c);
	expect_packets(a, 3);
	expect_packets(a, 0);
}

START_TEST(killed_at_any_instruction)
{
	const char *given = getenv("RXE_TEST_SEED");
	const unsigned int seed =
		given ? (unsigned int)strtoul(given, NULL, 0) : (unsigned int)time(NULL);
	struct link *c = open_slot(C);

	printf("RXE_TEST_SEED=%u\n", seed);
	srand(seed);
	link_close(b);
	b = NULL;
	memory_hub_detach(&hub, B);
	for (int i = 0; i < ROUNDS; i++) {
		one_round(i % 2 == 1);
		bystanders_go_on(c);
	}
	link_close(c);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_killed");
	TCase *tests = tcase_create("memory_killed");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, killed_at_any_instruction);
	tcase_set_timeout(tests, 60);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
