/* SPDX-License-Identifier: MIT */
/* The device's clock: readings of it, timestamps of completions and the system's clocks agree. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "fixture.h"

#define STAMPED 2000 /* messages */

static uint64_t raw_clock(struct ibv_context *context)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	ck_assert_int_eq(ibv_query_rt_values_ex(context, &values), 0);
	ck_assert_uint_eq(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	/* As of adapters: programs read tv_nsec alone. */
	ck_assert_int_eq(values.raw_clock.tv_sec, 0);
	return (uint64_t)values.raw_clock.tv_nsec;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	ck_assert_int_eq(clock_gettime(clock, &now), 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Ticks of the device's clock and of the system's pass at the rate that the device reports. */
static void expect_rate(struct ibv_context *context, uint64_t khz)
{
	const uint64_t raw = raw_clock(context), before_ns = now_ns(CLOCK_MONOTONIC);
	uint64_t after_ns = before_ns, passed;

	while (after_ns - before_ns < 5000000)
		after_ns = now_ns(CLOCK_MONOTONIC);
	passed = (raw_clock(context) - raw) * 1000000 / khz;
	ck_assert_uint_ge(passed, after_ns - before_ns);
}

/* A completion lies between two readings of each clock around it, and later completions are not
 * earlier: what a program needs that relates timestamps to other clocks. */
START_TEST(clocks_agree)
{
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	const struct end_cfg cfg = { .cq_attr = &attr };
	struct ibv_device_attr_ex device;
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_cq_ex *cq;
	struct end a, b;

	ends_open(&a, &b, &cfg);
	cq = (struct ibv_cq_ex *)(void *)a.cq;
	ck_assert_int_eq(ibv_query_device_ex(a.context, NULL, &device), 0);
	ck_assert_uint_eq(device.completion_timestamp_mask, UINT64_MAX);
	ck_assert_uint_eq(device.hca_core_clock, 1000000);
	expect_rate(a.context, device.hca_core_clock);
	for (uint64_t i = 0; i < 100; i++) {
		const uint64_t raw = raw_clock(a.context), wall_ns = now_ns(CLOCK_REALTIME);
		uint64_t ts;
		int err;

		end_post(&a, IBV_WR_RDMA_WRITE, i, 0, 64);
		do {
			err = ibv_start_poll(cq, &none);
		} while (err == ENOENT);
		ck_assert_int_eq(err, 0);
		ts = ibv_wc_read_completion_ts(cq);
		ck_assert_uint_ge(ts, raw);
		ck_assert_uint_le(ts, raw_clock(a.context));
		ck_assert_uint_ge(ibv_wc_read_completion_wallclock_ns(cq), wall_ns);
		ck_assert_uint_le(ibv_wc_read_completion_wallclock_ns(cq), now_ns(CLOCK_REALTIME));
		ibv_end_poll(cq);
	}
	ends_close(&a, &b);
}
END_TEST

static const struct ibv_cq_init_attr_ex stamped = {
	.cqe = 16,
	.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
};

/* Takes completions up to a receive, which happened after the peer read its clock, as the message
 * says. */
static void receive_stamped(struct end *end)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)(void *)end->cq;
	struct ibv_poll_cq_attr none = { 0 };
	bool received = false;

	while (!received) {
		uint64_t sent_at, ts;

		while (ibv_start_poll(cq, &none) == ENOENT)
			;
		ck_assert_int_eq(cq->status, IBV_WC_SUCCESS);
		received = ibv_wc_read_opcode(cq) == IBV_WC_RECV;
		ts = ibv_wc_read_completion_ts(cq);
		ibv_end_poll(cq);
		memcpy(&sent_at, end->memory, sizeof(sent_at));
		if (received)
			ck_assert_uint_ge(ts, sent_at);
	}
}

static void send_stamped(struct end *end)
{
	const uint64_t now = raw_clock(end->context);

	memcpy(end->memory + 64, &now, sizeof(now));
	end_post(end, IBV_WR_SEND, 1, 64, sizeof(now));
}

static void pong(int sock)
{
	const struct end_cfg cfg = { .cq_attr = &stamped };
	struct end_address peer;
	struct end end;

	end_open(&end, NULL, &cfg);
	peer = swap_addresses(sock, &end);
	end_connect(&end, &peer);
	end_recv(&end, 1, 0, 64);
	meet(sock);
	for (int i = 0; i < STAMPED; i++) {
		receive_stamped(&end);
		end_recv(&end, 1, 0, 64);
		send_stamped(&end);
	}
	meet(sock);
	end_close(&end);
}

/* The clocks of two programs are one: no message arrives before it was sent. */
START_TEST(nothing_arrives_before_it_was_sent)
{
	const struct end_cfg cfg = { .cq_attr = &stamped };
	struct end_address peer;
	struct end end;
	pid_t pid;
	int sock = beside(pong, &pid);

	end_open(&end, NULL, &cfg);
	peer = swap_addresses(sock, &end);
	end_connect(&end, &peer);
	end_recv(&end, 1, 0, 64);
	meet(sock);
	for (int i = 0; i < STAMPED; i++) {
		send_stamped(&end);
		receive_stamped(&end);
		end_recv(&end, 1, 0, 64);
	}
	meet(sock);
	end_close(&end);
	join(pid, sock);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, clocks_agree);
	tcase_add_test(tests, nothing_arrives_before_it_was_sent);
}

int main(void)
{
	return fixture_main("verbs_clock", add);
}
