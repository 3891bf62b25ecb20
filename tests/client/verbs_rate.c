// SPDX-License-Identifier: MIT
/* Rate limits (ibv_modify_qp_rate_limit(3)): no test can be too slow here, only too fast. */
#include <errno.h>
#include <time.h>

#include "fixture.h"

/* verbs.h's inline functions follow what they look up without asking. */
#pragma GCC diagnostic ignored "-Wnull-dereference"

#define LEN	     2000u
#define NSEC_PER_SEC 1000000000ull

static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
static struct end a, b;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void open_ends(enum ibv_qp_type type)
{
	const struct end_cfg cfg = { .type = type };

	ends_open(&a, &b, &cfg);
}

static int limit(uint32_t kbps, uint32_t burst, uint16_t typical)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = kbps,
					       .max_burst_sz = burst,
					       .typical_pkt_sz = typical };

	return ibv_modify_qp_rate_limit(a.qp, &attr);
}

/* Time that count messages of LEN bytes take. */
static uint64_t time_of(uint32_t count)
{
	const uint64_t begin_ns = now_ns();

	for (uint32_t i = 0; i < count; i++)
		end_post(&a, IBV_WR_SEND, i, 0, LEN);
	for (uint32_t i = 0; i < count; i++)
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	return now_ns() - begin_ns;
}

/* What follows the burst takes its time at the rate; the last message completes when it begins to
 * take its. */
START_TEST(the_rate_is_kept)
{
	open_ends(types[_i]);
	for (uint32_t i = 0; i < 60; i++)
		end_recv(&b, i, 0, LEN + 40);
	ck_assert_int_eq(limit(10000, 4096, LEN), 0);
	ck_assert_uint_ge(time_of(10), 6ull * LEN * 8 * 100);
	ck_assert_uint_ge(time_of(20), 16ull * LEN * 8 * 100);
	ck_assert_int_eq(limit(20000, 4096, LEN), 0);
	ck_assert_uint_ge(time_of(20), 16ull * LEN * 8 * 50);
	for (uint32_t i = 0; i < 50; i++)
		end_wait_for(&b, i, IBV_WC_SUCCESS);
	ends_close(&a, &b);
}
END_TEST

/* A queue that waits for days goes on when the limit is lifted. */
START_TEST(lifted)
{
	open_ends(types[_i]);
	for (uint32_t i = 0; i < 20; i++)
		end_recv(&b, i, 0, LEN + 40);
	ck_assert_int_eq(limit(1, 1, 0), 0);
	for (uint32_t i = 0; i < 20; i++)
		end_post(&a, IBV_WR_SEND, i, 0, LEN);
	end_wait_for(&a, 0, IBV_WC_SUCCESS);
	end_expect_nothing(&a);
	ck_assert_int_eq(limit(0, 0, 0), 0);
	for (uint32_t i = 1; i < 20; i++)
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < 20; i++)
		end_wait_for(&b, i, IBV_WC_SUCCESS);
	ends_close(&a, &b);
}
END_TEST

/* No process polls: the background thread keeps the rate, and keeps sending. */
START_TEST(without_polling)
{
	struct ibv_cq *cq;
	void *cookie;

	const struct end_cfg cfg = { .channel = true };

	ends_open(&a, &b, &cfg);
	for (uint32_t i = 0; i < 20; i++)
		end_recv(&b, i, 0, LEN);
	ck_assert_int_eq(limit(10000, 4096, 0), 0);
	ck_assert_int_eq(ibv_req_notify_cq(a.cq, 0), 0);
	for (uint32_t i = 0; i < 20; i++)
		end_post(&a, IBV_WR_SEND, i, 0, LEN);
	for (uint32_t done = 0; done < 20;) {
		struct ibv_wc wc;

		ck_assert_int_eq(ibv_get_cq_event(a.channel, &cq, &cookie), 0);
		ibv_ack_cq_events(cq, 1);
		ck_assert_int_eq(ibv_req_notify_cq(a.cq, 0), 0);
		while (ibv_poll_cq(a.cq, 1, &wc) == 1) {
			ck_assert_uint_eq(wc.wr_id, done++);
			ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
		}
	}
	ends_close(&a, &b);
}
END_TEST

START_TEST(reported_and_refused)
{
	struct ibv_qp_rate_limit_attr unknown = { .rate_limit = 1000, .comp_mask = 1 };
	struct ibv_qp_attr attr = { .rate_limit = 5000 };
	struct ibv_qp_attr to_reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_device_attr_ex device;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;

	open_ends(IBV_QPT_RC);
	ck_assert_int_eq(ibv_query_device_ex(a.context, NULL, &device), 0);
	ck_assert_uint_ge(device.packet_pacing_caps.qp_rate_limit_min, 1);
	ck_assert_uint_ne(device.packet_pacing_caps.supported_qpts & 1u << IBV_QPT_RC, 0);
	ck_assert_int_eq(ibv_modify_qp_rate_limit(a.qp, &unknown), EINVAL);
	ck_assert_int_eq(limit(0, 4096, 0), EINVAL);
	ck_assert_int_eq(limit(0, 0, 1000), EINVAL);
	ck_assert_int_eq(limit(device.packet_pacing_caps.qp_rate_limit_max + 1, 0, 0), EINVAL);
	ck_assert_int_eq(limit(device.packet_pacing_caps.qp_rate_limit_max, 0, 0), 0);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_RATE_LIMIT), 0);
	ck_assert_int_eq(ibv_query_qp(a.qp, &got, IBV_QP_RATE_LIMIT, &init), 0);
	ck_assert_uint_eq(got.rate_limit, 5000);
	/* It ends with RESET; without a state to send in there is none. */
	ck_assert_int_eq(ibv_modify_qp(a.qp, &to_reset, IBV_QP_STATE), 0);
	ck_assert_int_eq(ibv_query_qp(a.qp, &got, IBV_QP_RATE_LIMIT, &init), 0);
	ck_assert_uint_eq(got.rate_limit, 0);
	ck_assert_int_eq(limit(1000, 0, 0), EINVAL);
	ends_close(&a, &b);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, the_rate_is_kept, 0, 3);
	tcase_add_loop_test(tests, lifted, 0, 3);
	tcase_add_test(tests, without_polling);
	tcase_add_test(tests, reported_and_refused);
}

int main(void)
{
	return fixture_main("verbs_rate", add);
}
