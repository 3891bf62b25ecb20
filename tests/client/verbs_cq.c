// SPDX-License-Identifier: MIT
/* Completion queues and channels: events, arming, the extended way to poll, resizing, overrun, and
 * acknowledgements. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

static const struct end_cfg with_channel = { .channel = true };

static void get_event(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	ck_assert_int_eq(ibv_get_cq_event(end->channel, &cq, &context), 0);
	ck_assert_ptr_eq(cq, end->cq);
	ck_assert_ptr_eq(context, end);
}

static bool channel_is_readable(const struct end *end, int timeout_ms)
{
	struct pollfd fd = { .fd = end->channel->fd, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

START_TEST(event_for_each_completion_asked_for)
{
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	for (uint32_t i = 0; i < 200; i++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		end_recv(&b, i, 0, 100);
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		get_event(&b);
		end_wait_for(&b, i, IBV_WC_SUCCESS);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	ck_assert(!channel_is_readable(&a, 0));
	ibv_ack_cq_events(b.cq, 200);
	ends_close(&a, &b);
}
END_TEST

/* A program that polls the descriptor itself calls nothing of ours meanwhile. */
START_TEST(descriptor_polled_by_the_program)
{
	struct ibv_cq *cq;
	void *context;
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	ck_assert_int_eq(fcntl(b.channel->fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(ibv_get_cq_event(b.channel, &cq, &context), -1);
	ck_assert_int_eq(errno, EAGAIN);
	for (uint32_t i = 0; i < 50; i++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		end_recv(&b, i, 0, 100);
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		ck_assert(channel_is_readable(&b, -1));
		ck_assert(channel_is_readable(&b, 0)); /* level-triggered */
		get_event(&b);
		ck_assert(!channel_is_readable(&b, 0));
		end_wait_for(&b, i, IBV_WC_SUCCESS);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	ck_assert_int_eq(ibv_get_cq_event(b.channel, &cq, &context), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ibv_ack_cq_events(b.cq, 50);
	ends_close(&a, &b);
}
END_TEST

/* One poll of the waiting thread may raise both. */
START_TEST(events_of_two_cqs_of_one_channel)
{
	struct ibv_cq *first, *second;
	struct end a, b, c, d;
	struct end_address of_c, of_d;
	struct end_cfg cfg = { 0 };
	void *context;

	ends_open(&a, &b, &with_channel);
	cfg.cq = ibv_create_cq(b.context, 64, NULL, b.channel, 0);
	ck_assert_ptr_nonnull(cfg.cq);
	end_open(&c, a.context, NULL);
	end_open(&d, a.context, &cfg);
	of_c = end_address(&c);
	of_d = end_address(&d);
	end_connect(&c, &of_d);
	end_connect(&d, &of_c);
	for (uint32_t i = 0; i < 200; i++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		ck_assert_int_eq(ibv_req_notify_cq(d.cq, 0), 0);
		end_recv(&b, i, 0, 100);
		end_recv(&d, i, 0, 100);
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		end_post(&c, IBV_WR_SEND, i, 0, 100);
		ck_assert_int_eq(ibv_get_cq_event(b.channel, &first, &context), 0);
		ck_assert_int_eq(ibv_get_cq_event(b.channel, &second, &context), 0);
		ck_assert_ptr_ne(first, second);
		ck_assert(!channel_is_readable(&b, 0));
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		end_wait_for(&b, i, IBV_WC_SUCCESS);
		end_wait_for(&c, i, IBV_WC_SUCCESS);
		end_wait_for(&d, i, IBV_WC_SUCCESS);
	}
	ibv_ack_cq_events(b.cq, 200);
	ibv_ack_cq_events(d.cq, 200);
	ends_close(&c, &d);
	ck_assert_int_eq(ibv_destroy_cq(cfg.cq), 0);
	ends_close(&a, &b);
}
END_TEST

START_TEST(solicited_only)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	for (uint32_t i = 0; i < 2; i++)
		end_recv(&b, i, 0, 100);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 1), 0);
	end_post(&a, IBV_WR_SEND, 0, 0, 100);
	end_wait_for(&a, 0, IBV_WC_SUCCESS);
	end_wait_for(&b, 0, IBV_WC_SUCCESS);
	ck_assert(!channel_is_readable(&b, 0));
	wr = end_wr(&a, &sge, IBV_WR_SEND, 1, 0, 100);
	wr.send_flags |= IBV_SEND_SOLICITED;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	get_event(&b);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ibv_ack_cq_events(b.cq, 1);
	ends_close(&a, &b);
}
END_TEST

static void moderate(struct end *end, uint16_t count, uint16_t period_us)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { count, period_us } };

	ck_assert_int_eq(ibv_modify_cq(end->cq, &attr), 0);
}

static void arrive(struct end *a, struct end *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		end_recv(b, i, 0, 100);
		end_post(a, IBV_WR_SEND, i, 0, 100);
		end_wait_for(a, i, IBV_WC_SUCCESS);
	}
}

/* One event for N completions; the longest time there is never passes meanwhile, or the event comes
 * early. */
START_TEST(moderated_by_count)
{
	struct ibv_device_attr_ex device;
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	ck_assert_int_eq(ibv_query_device_ex(b.context, NULL, &device), 0);
	ck_assert_uint_ge(device.cq_mod_caps.max_cq_count, 1);
	ck_assert_uint_ge(device.cq_mod_caps.max_cq_period, 1);
	moderate(&b, 10, device.cq_mod_caps.max_cq_period);
	for (uint32_t round = 0; round < 3; round++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		arrive(&a, &b, 10);
		ck_assert(channel_is_readable(&b, -1));
		get_event(&b);
		ck_assert(!channel_is_readable(&b, 0));
		for (uint32_t i = 0; i < 10; i++)
			end_wait_for(&b, i, IBV_WC_SUCCESS);
	}
	ibv_ack_cq_events(b.cq, 3);
	ends_close(&a, &b);
}
END_TEST

/* Fewer than the count: the program sleeps, and is woken when the time is over. */
START_TEST(moderated_by_time)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	moderate(&b, UINT16_MAX, 2000);
	for (uint32_t round = 0; round < 5; round++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, round % 2), 0);
		end_recv(&b, round, 0, 100);
		wr = end_wr(&a, &sge, IBV_WR_SEND, round, 0, 100);
		wr.send_flags |= IBV_SEND_SOLICITED;
		ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
		end_wait_for(&a, round, IBV_WC_SUCCESS);
		ck_assert(channel_is_readable(&b, -1));
		get_event(&b);
		end_wait_for(&b, round, IBV_WC_SUCCESS);
	}
	/* Destroyed while an event is held. */
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
	arrive(&a, &b, 1);
	ibv_ack_cq_events(b.cq, 5);
	ends_close(&a, &b);
}
END_TEST

/* Without a count, or without a time, an event each time. */
START_TEST(not_moderated)
{
	static const uint16_t none[][2] = { { 0, 60000 }, { 100, 0 }, { 0, 0 }, { 1, 60000 } };
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	for (uint32_t i = 0; i < 4; i++) {
		moderate(&b, none[i][0], none[i][1]);
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		arrive(&a, &b, 1);
		get_event(&b);
		end_wait_for(&b, 0, IBV_WC_SUCCESS);
	}
	ibv_ack_cq_events(b.cq, 4);
	ends_close(&a, &b);
}
END_TEST

/* Without a channel no event can come, and a program that waits for one would hang. */
START_TEST(armed_without_a_channel)
{
	struct end a;

	end_open(&a, NULL, NULL);
	errno = 0;
	ck_assert_int_eq(ibv_req_notify_cq(a.cq, 0), EINVAL);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_req_notify_cq(a.cq, 1), EINVAL);
	end_close(&a);
}
END_TEST

/* Armed once, one event, however many completions come. */
START_TEST(one_event_an_arming)
{
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	for (uint32_t i = 0; i < 10; i++)
		end_recv(&b, i, 0, 100);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
	for (uint32_t i = 0; i < 10; i++) {
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	get_event(&b);
	ck_assert(!channel_is_readable(&b, 0));
	for (uint32_t i = 0; i < 10; i++)
		end_wait_for(&b, i, IBV_WC_SUCCESS);
	ibv_ack_cq_events(b.cq, 1);
	ends_close(&a, &b);
}
END_TEST

/* A program polls, arms, and sleeps: what came after its poll and before its arming wakes it. */
START_TEST(armed_with_an_unread_completion)
{
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	for (uint32_t i = 0; i < 20; i++) {
		end_recv(&b, i, 0, 100);
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		ck_assert(!channel_is_readable(&b, 0));
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 1), 0);
		ck_assert(!channel_is_readable(&b, 0)); /* it was not solicited */
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		ck_assert(channel_is_readable(&b, 0));
		get_event(&b);
		ck_assert(!channel_is_readable(&b, 0));
		end_wait_for(&b, i, IBV_WC_SUCCESS);
	}
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
	ck_assert(!channel_is_readable(&b, 0)); /* nothing is unread */
	ibv_ack_cq_events(b.cq, 20);
	ends_close(&a, &b);
}
END_TEST

static _Atomic bool destroyed;

static void *destroy(void *arg)
{
	struct end *end = arg;

	ck_assert_int_eq(ibv_destroy_cq(end->cq), 0);
	atomic_store(&destroyed, true);
	return NULL;
}

START_TEST(destroy_waits_for_acknowledgement)
{
	pthread_t thread;
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
	end_recv(&b, 0, 0, 100);
	end_post(&a, IBV_WR_SEND, 0, 0, 100);
	end_wait_for(&a, 0, IBV_WC_SUCCESS);
	get_event(&b);
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	ck_assert_int_eq(pthread_create(&thread, NULL, destroy, &b), 0);
	for (int i = 0; i < 10000; i++)
		ck_assert(!atomic_load(&destroyed));
	ibv_ack_cq_events(b.cq, 1);
	pthread_join(thread, NULL);
	ck_assert(atomic_load(&destroyed));
	b.cq = NULL;
	ends_close(&a, &b);
}
END_TEST

START_TEST(busy_while_in_use)
{
	struct end a, b;

	ends_open(&a, &b, &with_channel);
	ck_assert_int_eq(ibv_destroy_cq(b.cq), EBUSY);
	ck_assert_int_eq(ibv_destroy_comp_channel(b.channel), EBUSY);
	ck_assert_int_eq(ibv_dealloc_pd(b.pd), EBUSY);
	end_recv(&b, 0, 0, 100);
	end_post(&a, IBV_WR_SEND, 0, 0, 100);
	end_wait_for(&b, 0, IBV_WC_SUCCESS); /* nothing of it was harmed */
	ends_close(&a, &b);
}
END_TEST

START_TEST(resize_keeps_completions)
{
	struct end_cfg cfg = { .cqe = 8 };
	struct end a, b;

	ends_open(&a, &b, &cfg);
	for (uint32_t i = 0; i < 8; i++) {
		end_recv(&b, i, 0, 100);
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	ck_assert_int_ne(ibv_resize_cq(b.cq, 7), 0); /* it holds eight */
	ck_assert_int_eq(ibv_resize_cq(b.cq, 20), 0);
	ck_assert_int_ge(b.cq->cqe, 20);
	for (uint32_t i = 8; i < 20; i++) {
		end_recv(&b, i, 0, 100);
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	for (uint32_t i = 0; i < 20; i++)
		end_wait_for(&b, i, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_resize_cq(b.cq, 2), 0);
	ends_close(&a, &b);
}
END_TEST

START_TEST(overrun)
{
	struct end_cfg cfg = { .cqe = 4 };
	struct end a, b;
	struct ibv_async_event event;

	ends_open(&a, &b, &cfg);
	for (uint32_t i = 0; i < 5; i++)
		end_recv(&b, i, 0, 100);
	for (uint32_t i = 0; i < 5; i++)
		end_post(&a, IBV_WR_SEND, i, 0, 100);
	ck_assert_int_eq(ibv_get_async_event(b.context, &event), 0);
	ck_assert_int_eq(event.event_type, IBV_EVENT_CQ_ERR);
	ck_assert(event.element.cq == a.cq || event.element.cq == b.cq);
	ibv_ack_async_event(&event);
	ends_close(&a, &b);
}
END_TEST

/* How many requests are taken until ENOMEM; far more than there are slots end the count. */
static uint32_t post_until_enomem(struct end *end)
{
	const enum ibv_wr_opcode opcode =
		end->cfg.type == IBV_QPT_UD ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	uint32_t n;
	int err;

	for (n = 0; n < 1000; n++) {
		wr = end_wr(end, &sge, opcode, n, 0, 8);
		err = ibv_post_send(end->qp, &wr, &bad);
		if (err) {
			ck_assert_int_eq(err, ENOMEM);
			ck_assert_ptr_eq(bad, &wr);
			break;
		}
	}
	return n;
}

/* ENOMEM is back-pressure: a program that posts until it comes, and polls then, cannot overrun its
 * CQ. */
START_TEST(slots_are_free_when_polled)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	const struct end_cfg cfg = { .type = types[_i], .wrs = 64, .cqe = 64 };
	struct end a, b;

	ends_open(&a, &b, &cfg);
	ck_assert_uint_eq(post_until_enomem(&a), 64);
	for (uint32_t n = 1; n < 64; n += 9) {
		for (uint32_t i = 0; i < n; i++)
			ck_assert_int_eq(end_wait(&a).status, IBV_WC_SUCCESS);
		ck_assert_uint_eq(post_until_enomem(&a), n);
	}
	for (uint32_t i = 0; i < 64; i++)
		ck_assert_int_eq(end_wait(&a).status, IBV_WC_SUCCESS);
	end_expect_nothing(&a);
	ck_assert_int_eq(end_state(&a), IBV_QPS_RTS);
	ends_close(&a, &b);
}
END_TEST

/* One time for a completion, however often it is read, and not before that of an earlier one. */
static uint64_t expect_wallclock(struct ibv_cq_ex *cq, uint64_t earlier_ns)
{
	const uint64_t ns = ibv_wc_read_completion_wallclock_ns(cq);

	ck_assert_uint_ge(ns, earlier_ns);
	ck_assert_uint_le(ns / 1000000000, (uint64_t)time(NULL) + 1);
	ck_assert_uint_ge(ns / 1000000000, (uint64_t)time(NULL) - 3600);
	for (int i = 0; i < 1000; i++)
		ck_assert_uint_eq(ibv_wc_read_completion_wallclock_ns(cq), ns);
	return ns;
}

/* The extended interface, and all that a completion reports. */
START_TEST(extended_polling)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_poll_cq_attr none = { 0 };
	struct end a, b;
	struct ibv_cq_ex *cq;
	struct ibv_qp_init_attr init;
	struct ibv_send_wr *bad, wr;
	struct ibv_sge sge;
	uint64_t wall_ns = 0;
	int err;

	end_open(&b, NULL, NULL);
	cq = ibv_create_cq_ex(b.context, &attr);
	ck_assert_ptr_nonnull(cq);
	ck_assert_int_eq(ibv_start_poll(cq, &none), ENOENT);
	end_open(&a, b.context, NULL);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	init = (struct ibv_qp_init_attr){ .send_cq = ibv_cq_ex_to_cq(cq),
					  .recv_cq = a.cq,
					  .cap = { 16, 16, 1, 1, 0 },
					  .qp_type = IBV_QPT_RC };
	a.qp = ibv_create_qp(a.pd, &init);
	ck_assert_ptr_nonnull(a.qp);
	wr = end_wr(&a, &sge, IBV_WR_SEND, 1, 0, 0);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL); /* RESET */
	ck_assert_ptr_eq(bad, &wr);
	do {
		struct ibv_qp_attr to = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

		ck_assert_int_eq(ibv_modify_qp(a.qp, &to,
					       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						       IBV_QP_ACCESS_FLAGS),
				 0);
		to.qp_state = IBV_QPS_ERR;
		ck_assert_int_eq(ibv_modify_qp(a.qp, &to, IBV_QP_STATE), 0);
	} while (0);
	for (uint32_t i = 0; i < 3; i++)
		end_post(&a, IBV_WR_SEND, 70 + i, 0, 0);
	do {
		err = ibv_start_poll(cq, &none);
	} while (err == ENOENT);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_eq(err, 0);
		ck_assert_uint_eq(cq->wr_id, 70 + i);
		ck_assert_int_eq(cq->status, IBV_WC_WR_FLUSH_ERR);
		ck_assert_uint_eq(ibv_wc_read_qp_num(cq), a.qp->qp_num);
		ck_assert_uint_ne(ibv_wc_read_completion_ts(cq), 0);
		wall_ns = expect_wallclock(cq, wall_ns);
		err = ibv_next_poll(cq);
	}
	ck_assert_int_eq(err, ENOENT);
	ibv_end_poll(cq);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	a.qp = NULL;
	ck_assert_int_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	ends_close(&b, &a);
}
END_TEST

static void one_thread(struct end *a, struct end *b)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)(void *)b->cq;
	struct ibv_poll_cq_attr none = { 0 };
	int err;

	ck_assert_int_eq(ibv_start_poll(ex, &none), ENOENT);
	ck_assert_int_eq(ibv_req_notify_cq(b->cq, 0), 0);
	arrive(a, b, 20);
	get_event(b);
	ibv_ack_cq_events(b->cq, 1);
	for (uint32_t i = 0; i < 5; i++)
		end_wait_for(b, i, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_resize_cq(b->cq, 15), 0);
	ck_assert_int_eq(ibv_resize_cq(b->cq, 14), EINVAL);
	err = ibv_start_poll(ex, &none);
	for (uint32_t i = 5; i < 20; i++) {
		ck_assert_int_eq(err, 0);
		ck_assert_uint_eq(ex->wr_id, i);
		ck_assert_int_eq(ex->status, IBV_WC_SUCCESS);
		err = ibv_next_poll(ex);
	}
	ck_assert_int_eq(err, ENOENT);
	ibv_end_poll(ex);
	end_expect_nothing(b);
}

/* The CQ keeps what it has space for; the queue pair goes on, and so does the CQ once it was
 * polled. */
START_TEST(ignored_overrun)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN };
	const struct end_cfg cfg = { .cqe = 16, .cq_attr = &attr };
	volatile uint8_t *last;
	struct end a, b;
	struct ibv_wc wc;

	ends_open(&a, &b, &cfg);
	last = b.memory + 40;
	a.memory[40] = 1;
	for (uint32_t i = 0; i < 40; i++)
		end_post(&a, IBV_WR_RDMA_WRITE, i, i, 1);
	end_post(&a, IBV_WR_RDMA_WRITE, 40, 40, 1);
	while (!*last)
		;
	for (uint64_t i = 0; i < 16; i++)
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	ck_assert_int_eq(end_state(&a), IBV_QPS_RTS);
	end_post(&a, IBV_WR_RDMA_WRITE, 50, 0, 1);
	/* Completions of the first may have come since. */
	do {
		wc = end_wait(&a);
		ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
	} while (wc.wr_id != 50);
	ends_close(&a, &b);
}
END_TEST

START_TEST(data_in_order)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct end a, b;

	ends_open(&a, &b, NULL);
	for (int i = 0; i < 4; i++) {
		/* IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS */
		ck_assert_int_eq(ibv_query_qp_data_in_order(a.qp, opcodes[i], 1), 0);
		ck_assert_int_eq(ibv_query_qp_data_in_order(a.qp, opcodes[i], 0), 0);
	}
	ends_close(&a, &b);
}
END_TEST

/* CQs without a lock of their own, by the flag or by a thread domain: they do all that others
 * do. */
START_TEST(single_threaded)
{
	struct ibv_context *context = fixture_open();
	struct ibv_parent_domain_init_attr parent = { .pd = ibv_alloc_pd(context) };
	struct ibv_td_init_attr td = { 0 };
	struct ibv_cq_init_attr_ex attr = { .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED };
	struct end_cfg cfg = { .channel = true, .cq_attr = &attr };
	struct end a, b;

	parent.td = ibv_alloc_td(context, &td);
	if (_i)
		attr = (struct ibv_cq_init_attr_ex){
			.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
			.parent_domain = ibv_alloc_parent_domain(context, &parent),
		};
	end_open(&a, context, &cfg);
	end_open(&b, context, &cfg);
	for (int i = 0; i < 2; i++) {
		struct end_address address = end_address(i ? &a : &b);

		end_connect(i ? &b : &a, &address);
	}
	one_thread(&a, &b);
	if (_i)
		ck_assert_int_eq(ibv_dealloc_pd(attr.parent_domain), EBUSY);
	end_close(&b);
	end_close(&a);
	if (_i)
		ck_assert_int_eq(ibv_dealloc_pd(attr.parent_domain), 0);
	ck_assert_int_eq(ibv_dealloc_td(parent.td), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent.pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

START_TEST(destroyed_queue_pair_leaves_no_completions)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	end_recv(&b, 0, 0, 100);
	end_post(&a, IBV_WR_SEND, 0, 0, 100);
	end_wait_for(&a, 0, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	end_expect_nothing(&b);
	ends_close(&a, &b);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, event_for_each_completion_asked_for);
	tcase_add_test(tests, descriptor_polled_by_the_program);
	tcase_add_test(tests, events_of_two_cqs_of_one_channel);
	tcase_add_test(tests, solicited_only);
	tcase_add_test(tests, armed_without_a_channel);
	tcase_add_test(tests, one_event_an_arming);
	tcase_add_test(tests, moderated_by_count);
	tcase_add_test(tests, moderated_by_time);
	tcase_add_test(tests, not_moderated);
	tcase_add_test(tests, armed_with_an_unread_completion);
	tcase_add_test(tests, destroy_waits_for_acknowledgement);
	tcase_add_test(tests, busy_while_in_use);
	tcase_add_test(tests, resize_keeps_completions);
	tcase_add_test(tests, overrun);
	tcase_add_test(tests, ignored_overrun);
	tcase_add_test(tests, data_in_order);
	tcase_add_loop_test(tests, slots_are_free_when_polled, 0, 3);
	tcase_add_test(tests, extended_polling);
	tcase_add_loop_test(tests, single_threaded, 0, 2);
	tcase_add_test(tests, destroyed_queue_pair_leaves_no_completions);
}

int main(void)
{
	return fixture_main("verbs_cq", add);
}
