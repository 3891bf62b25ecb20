// SPDX-License-Identifier: MIT
/* Listeners of the communication manager: which of them overlap, which one gets a request, and that
 * many cost no more than a few. */
#include <check.h>
#include <errno.h>

#include "rxe_dm/cm/cm.h"
#include "tests/suite.h"

#define MANY 50000u

static struct cm *cm;
static uint32_t num_requests;
static const struct cm_id *last_listener;

static void drop_mad(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	(void)host;
	(void)path;
	(void)mad;
}

static void forget_request(void *host, const struct cm_event *event)
{
	(void)host;
	ck_assert_int_eq(event->type, CM_EVENT_REQ_RECEIVED);
	num_requests++;
	last_listener = event->listener;
	cm_id_forget(event->id);
}

static uint32_t count_up(void *host)
{
	static uint32_t last;

	(void)host;
	return ++last;
}

static const struct cm_ops ops = {
	.send = drop_mad,
	.event = forget_request,
	.random = count_up,
};

static void setup(void)
{
	const struct cm_cfg cfg = { .ops = &ops, .max_ids = MANY + 10 };

	num_requests = 0;
	last_listener = NULL;
	cm = cm_new(&cfg);
	ck_assert_ptr_nonnull(cm);
}

static void teardown(void)
{
	cm_free(cm);
}

static struct cm_id *listener(uint64_t service_id, const struct gid *addr, uint32_t device)
{
	struct cm_id *id = cm_id_create(cm, NULL);

	ck_assert_ptr_nonnull(id);
	ck_assert_int_eq(cm_listen(id, service_id, addr, device), 0);
	return id;
}

static void request(uint64_t service_id, const struct gid *to, uint32_t device)
{
	static uint32_t last_comm_id;
	const uint32_t comm_id = ++last_comm_id;
	const struct cm_path path = { .device = device, .src = *to };
	const struct cm_msg req = {
		.attr = CM_REQ,
		.local_comm_id = comm_id,
		.u.req = { .service_id = service_id, .local_qpn = comm_id },
	};
	uint8_t mad[CM_MAD_BYTES];

	cm_msg_emit(mad, &req);
	cm_input(cm, &path, mad, 0);
}

/* The listener that a request reaches; NULL: none. */
static const struct cm_id *found(uint64_t service_id, const struct gid *to, uint32_t device)
{
	last_listener = NULL;
	request(service_id, to, device);
	return last_listener;
}

/* Each has a service of its own. Where one costs as much as there are listeners, this takes minutes
 * instead of a moment, and the test's time limit ends it. */
START_TEST(many_services)
{
	const struct gid any = { .raw = { 1 } };

	for (uint32_t i = 0; i < MANY; i++)
		listener(i, NULL, CM_ANY_DEVICE);
	ck_assert_int_eq(cm_listen(cm_id_create(cm, NULL), MANY / 2, NULL, 0), -EADDRINUSE);
	for (uint32_t i = 0; i <= MANY; i++)
		request(i, &any, 0);
	ck_assert_uint_eq(num_requests, MANY);
}
END_TEST

/* Listeners of one service at different addresses come and go in any order. */
START_TEST(addresses_of_one_service)
{
	const struct gid first = { .raw = { 1 } }, second = { .raw = { 2 } },
			 third = { .raw = { 3 } };
	struct cm_id *one = listener(7, &first, CM_ANY_DEVICE), *two = listener(7, &second, 0);
	struct cm_id *three = listener(7, &third, 1), *other = listener(8, NULL, CM_ANY_DEVICE);

	ck_assert_ptr_eq(found(7, &first, 0), one);
	ck_assert_ptr_eq(found(7, &second, 0), two);
	ck_assert_ptr_eq(found(7, &third, 1), three);
	ck_assert_ptr_null(found(7, &third, 0));
	ck_assert_ptr_eq(found(8, &third, 0), other);
	cm_id_destroy(one, 0);
	ck_assert_ptr_null(found(7, &first, 0));
	ck_assert_ptr_eq(found(7, &second, 0), two);
	cm_id_destroy(three, 0);
	ck_assert_ptr_null(found(7, &third, 1));
	cm_id_destroy(two, 0);
	ck_assert_ptr_null(found(7, &second, 0));
	one = listener(7, NULL, CM_ANY_DEVICE);
	ck_assert_ptr_eq(found(7, &third, 5), one);
	ck_assert_ptr_eq(found(8, &first, 0), other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cm_listen");
	TCase *tc = tcase_create("cm_listen");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, many_services);
	tcase_add_test(tc, addresses_of_one_service);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
