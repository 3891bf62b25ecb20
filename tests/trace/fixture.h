/* SPDX-License-Identifier: MIT */
/* The fixture of trace tests: two hosts, a connected pair of QPs a and b, and a trace to
 * compare. */
#ifndef RXE_TRACE_FIXTURE_H
#define RXE_TRACE_FIXTURE_H

#include <check.h>

#include "net/wire/opcode.h"
#include "tests/sim/world.h"

extern struct world w;
extern struct node *x, *y;
extern struct end *a, *b;

/* Before and after each test: hosts x and y without QPs. */
void fixture_setup(void);
void fixture_teardown(void);
/* a on x, b on y: PSNs begin at 100 and 500, MTU 1024, 5 us one way. opts NULL: world_opts(). */
void connect_ends(const struct node_qp_opts *opts);
void connect_with_mtu(uint32_t mtu);

/* The trace since the last expect equals this text. */
#define expect(text) expect_at(text, __FILE__, __LINE__)
void expect_at(const char *text, const char *file, int line);
/* The trace since the last expect has lines with these beginnings, in this order; others may be
 * between. */
#define expect_some(text) expect_some_at(text, __FILE__, __LINE__)
void expect_some_at(const char *text, const char *file, int line);
/* Discards the trace so far. */
void skip(void);
void fault(const char *rule);
/* Expects len bytes at these addresses of two nodes to be equal. */
void expect_same(const struct node *n, uint32_t at, const struct node *m, uint32_t m_at,
		 uint32_t len);

/* The 64-bit word at an address of a node. */
uint64_t word_at(const struct node *n, uint32_t at);
void set_word(struct node *n, uint32_t at, uint64_t value);
/* Sends the packet that would come next from an end, but with this opcode, PSN and payload
 * length. */
void inject(struct end *from, enum wire_op op, uint32_t psn, uint32_t len);
void inject_ack(struct end *from, uint8_t syndrome, uint32_t psn);

/* Runs the tests of one theme. */
int run_tests(const char *theme, const TTest *const *tests, size_t num);
#define RUN_TESTS(theme, ...)                                                                      \
	int main(void)                                                                             \
	{                                                                                          \
		const TTest *const tests[] = { __VA_ARGS__ };                                      \
                                                                                                   \
		return run_tests(theme, tests, sizeof(tests) / sizeof(tests[0]));                  \
	}

/* Posts to an end: POST(a, SEND, 64, .imm = 3). */
#define POST(end, opcode, n, ...)                                                                  \
	world_post(&w, end, (struct post){ .op = RXE_WR_##opcode, .len = (n), __VA_ARGS__ })
#define SEND(n, ...)  POST(a, SEND, n, __VA_ARGS__)
#define WRITE(n, ...) POST(a, RDMA_WRITE, n, __VA_ARGS__)
#define READ(n, ...)  POST(a, RDMA_READ, n, __VA_ARGS__)
#define ADD(n, ...)   POST(a, ATOMIC_FETCH_AND_ADD, 8, .compare_add = (n), __VA_ARGS__)
#define SWAP(was, now, ...)                                                                        \
	POST(a, ATOMIC_CMP_AND_SWP, 8, .compare_add = (was), .swap = (now), __VA_ARGS__)
/* Address of b's receives. */
#define RECV_AT 0x100000u
#define RECV(n) world_recv(&w, b, RECV_AT, n)
/* Address of READ results, apart from the bytes that are sent. */
#define READ_AT 0x200000u

#endif
