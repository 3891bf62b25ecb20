// SPDX-License-Identifier: MIT
/* The communication manager without memory: each allocation fails once. The call that needed it
 * fails, nothing that it began stays, and in the end all memory is free. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "rxe_dm/cm/cm.h"
#include "tests/suite.h"

#define SERVICE 0x1061c06u

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		is_checking = true;                                                                \
		ck_assert(condition);                                                              \
		is_checking = false;                                                               \
	} while (0)

/* The linker gives the calls of the room to these. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t num, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t num, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

static uint32_t left;	 /* allocations up to the one that fails */
static bool is_checking; /* libcheck's allocations do not count */
/* Allocations that are not free; libcheck frees others, of the C library's. */
static void *held[1000];
static uint32_t num_refused, num_events;

static bool fails(void)
{
	return !is_checking && left > 0 && --left == 0;
}

static bool replace(void *old, void *new)
{
	for (uint32_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		if (held[i] == old) {
			held[i] = new;
			return true;
		}
	return false;
}

static void *hold(void *p)
{
	if (p && !replace(NULL, p))
		abort();
	return p;
}

static uint32_t num_held(void)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		num += held[i] != NULL;
	return num;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : hold(__real_malloc(size));
}

void *__wrap_calloc(size_t num, size_t size)
{
	return fails() ? NULL : hold(__real_calloc(num, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	void *new;

	if (fails())
		return NULL;
	if (p)
		(void)replace(p, NULL);
	new = __real_realloc(p, size);
	if (!new)
		(void)hold(p);
	return hold(new);
}

void __wrap_free(void *p)
{
	if (p)
		(void)replace(p, NULL);
	__real_free(p);
}

static void count_refusals(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct cm_msg msg;

	(void)host;
	(void)path;
	CHECK(cm_msg_parse(&msg, mad));
	num_refused += msg.attr == CM_REJ && msg.u.rej.reason == CM_REJ_NO_RESOURCES;
	num_refused += msg.attr == CM_SIDR_REP && msg.u.sidr_rep.status == CM_SIDR_NO_QP;
}

static void forget(void *host, const struct cm_event *event)
{
	(void)host;
	num_events++;
	cm_id_forget(event->id);
}

static uint32_t count_up(void *host)
{
	static uint32_t last;

	(void)host;
	return ++last;
}

static void arrive(struct cm *cm, const struct cm_msg *msg)
{
	const struct cm_path path = { .hop_limit = 64 };
	uint8_t mad[CM_MAD_BYTES];

	cm_msg_emit(mad, msg);
	cm_input(cm, &path, mad, 0);
}

/* All that needs memory. Returns how many of the steps failed. */
static uint32_t use(struct cm *cm)
{
	const struct cm_msg req = { .attr = CM_REQ,
				    .local_comm_id = 5,
				    .u.req = { .service_id = SERVICE, .local_qpn = 0x11 } };
	const struct cm_msg sidr = { .attr = CM_SIDR_REQ,
				     .u.sidr_req = { .service_id = SERVICE, .request_id = 6 } };
	const struct cm_path path = { .hop_limit = 64 };
	struct cm_id *listener = cm_id_create(cm, NULL), *id = cm_id_create(cm, NULL);
	int rc;

	num_refused = num_events = 0;
	if (!listener || !id)
		return 1;
	rc = cm_listen(listener, SERVICE, NULL, CM_ANY_DEVICE);
	if (rc) {
		CHECK(rc == -ENOMEM);
		CHECK(cm_id_state(listener) == CM_STATE_IDLE);
		return 1;
	}
	arrive(cm, &req);
	arrive(cm, &sidr);
	CHECK(num_events + num_refused == 2);
	rc = cm_send_req(id, &path, &req, 0);
	CHECK(rc == 0 || rc == -ENOMEM);
	CHECK(cm_id_state(id) == (rc ? CM_STATE_IDLE : CM_STATE_REQ_SENT));
	CHECK(cm_num_ids(cm) == 2);
	return num_refused + (rc != 0);
}

static uint32_t use_and_free(uint32_t failing)
{
	static const struct cm_ops ops = { .send = count_refusals,
					   .event = forget,
					   .random = count_up };
	const uint32_t before = num_held();
	uint32_t failed = 1;
	struct cm *cm;

	left = failing;
	cm = cm_new(&(struct cm_cfg){ .ops = &ops, .max_ids = 8 });
	if (cm) {
		failed = use(cm);
		cm_free(cm);
	}
	left = 0;
	ck_assert_uint_eq(num_held(), before);
	return failed;
}

START_TEST(each_allocation_fails_once)
{
	uint32_t failing = 1;

	ck_assert_uint_eq(use_and_free(0), 0);
	while (use_and_free(failing) > 0)
		failing++;
	/* The manager, its heap of timers, two ids, a service with its table, two ends that
	 * arrive with their tables, and a connection: none of the failures was another's. */
	ck_assert_uint_gt(failing, 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cm_memory");
	TCase *tests = tcase_create("allocations");

	tcase_add_test(tests, each_allocation_fails_once);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
