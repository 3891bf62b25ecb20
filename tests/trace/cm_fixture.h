/* SPDX-License-Identifier: MIT */
/* The fixture of the connection manager's traces: hosts a and b (and c), a millisecond apart, and
 * a trace of what they send and what their programs receive, in milliseconds. Nothing answers by
 * itself: the tests call. */
#ifndef RXE_TRACE_CM_FIXTURE_H
#define RXE_TRACE_CM_FIXTURE_H

#include <check.h>

#include "tests/sim/cm_world.h"

#define SERVICE 0x1061c06u
#define QPN_A	0x11u
#define QPN_B	0x22u
#define FOREVER (3600ull * 1000 * MS)

extern struct cm_world cw;
extern struct cm_host *a, *b, *c;
extern struct cm_id *ida, *idb; /* of the last connect() and of the last request received */

/* Before and after each test. */
void cm_setup(void);
void cm_teardown(void);

void listen_at(struct cm_host *host);
/* The messages as rping's, with a communication timeout of 67 ms (code 14) and a packet lifetime
 * of 2 ms (code 9), so that a REQ is retried after 71.3 ms and TIME_WAIT lasts 4.2 ms; 2 retries.
 */
struct cm_msg req_of(const struct cm_host *from, const struct cm_host *to);
struct cm_msg rep_of(const struct cm_host *host);
struct cm_msg rej_of(uint16_t reason);
void connect_to(struct cm_host *to); /* from a: ida */
void accept_it(void);		     /* idb */
void rtu(void);			     /* ida */
void established(void);		     /* all of it; the trace begins after it */
int send_plain(struct cm_id *id, enum cm_attr attr);

/* The next n messages of this kind that a host sends are lost, come twice, or take ms. */
void lose(struct cm_host *from, enum cm_attr attr, uint32_t n);
void double_next(struct cm_host *from, enum cm_attr attr);
void delay_next(struct cm_host *from, enum cm_attr attr, uint64_t ms);
/* A message without an owner. */
void inject(struct cm_host *from, struct cm_host *to, const struct cm_msg *msg);

void run_ms(uint64_t ms);
void run(void); /* until nothing is left to happen */

/* The trace since the last expect equals this text. */
#define expect(text) expect_at(text, __FILE__, __LINE__)
void expect_at(const char *text, const char *file, int line);
void skip(void);
/* Ids of a host, those that only keep TIME_WAIT included. */
#define expect_ids(host, n) ck_assert_uint_eq(cm_num_ids((host)->cm), n)

int run_tests(const char *theme, const TTest *const *tests, size_t num);
#define RUN_TESTS(theme, ...)                                                                      \
	int main(void)                                                                             \
	{                                                                                          \
		const TTest *const tests[] = { __VA_ARGS__ };                                      \
                                                                                                   \
		return run_tests(theme, tests, sizeof(tests) / sizeof(tests[0]));                  \
	}

#endif
