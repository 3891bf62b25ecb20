// SPDX-License-Identifier: MIT
/* Random requests on both sides, with lost and spoiled messages: whatever programs and peers do,
 * every id and every exchange ends once all ids are destroyed. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "cma_id_fixture.h"

#define MAX_IDS 40
#define STEPS	4000

static uint64_t state;
static struct cma_id *ids[2][MAX_IDS];
static uint32_t num_ids[2];

static uint32_t roll(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

static void keep(uint32_t which, struct cma_id *id)
{
	if (num_ids[which] < MAX_IDS)
		ids[which][num_ids[which]++] = id;
	else
		cma_id_destroy(id, now_ns);
}

static void destroy(uint32_t which, uint32_t at)
{
	cma_id_destroy(ids[which][at], now_ns);
	ids[which][at] = ids[which][--num_ids[which]];
}

/* Ids of connection requests belong to the program once it has their event. */
static void adopt(uint32_t which)
{
	struct side *side = which ? &b : &a;
	struct cma_id *id = side->last.event == CTL_CM_EVENT_CONNECT_REQUEST
				    ? cma_id_find(side->ids, side->last.new_id)
				    : NULL;

	if (!id || cma_id_user(id)->token)
		return;
	cma_id_user(id)->token = 1;
	side->last.event = 0;
	keep(which, id);
}

static union ctl_cm_sockaddr any_address(void)
{
	static const char *const texts[] = { "10.0.0.1:7000", "10.0.0.2:7000",	"0.0.0.0:7000",
					     "[::]:7000",     "[fd00::1]:7000", "[fd00::2]:7000",
					     "10.0.0.2:7001", "10.0.0.1:0",	"239.1.1.1:0" };

	return address(texts[roll(sizeof(texts) / sizeof(texts[0]))]);
}

static void set_up(struct cma_id *id)
{
	const union ctl_cm_sockaddr none = { 0 }, one = any_address(), other = any_address();
	uint32_t member;

	switch (roll(5)) {
	case 0: (void)cma_id_bind(id, &one); break;
	case 1: (void)cma_id_resolve_addr(id, roll(2) ? &none : &one, &other); break;
	case 2: (void)cma_id_resolve_route(id); break;
	case 3: (void)cma_id_listen(id, 1 + roll(3)); break;
	default: (void)cma_id_join(id, &one, 5, &member); break;
	}
}

static void use(struct cma_id *id)
{
	const struct ctl_cm_conn conn = { .qpn = 1 + roll(0xffffff),
					  .private_len = (uint8_t)roll(60) };
	struct ctl_cm_qp_attr attr;
	struct ctl_cm_listed listed;

	switch (roll(8)) {
	case 0: (void)cma_id_connect(id, &conn, now_ns); break;
	case 1: (void)cma_id_accept(id, &conn, now_ns); break;
	case 2: (void)cma_id_reject(id, &conn, now_ns); break;
	case 3: (void)cma_id_establish(id); break;
	case 4: (void)cma_id_notify(id, IBV_EVENT_COMM_EST); break;
	case 5: (void)cma_id_disconnect(id, now_ns); break;
	case 6: (void)cma_id_init_qp_attr(id, roll(5), &attr); break;
	default: cma_id_describe(id, &listed); break;
	}
}

/* What a sound program would do next. */
static void advance(struct cma_id *id)
{
	const struct ctl_cm_conn conn = { .qpn = 1 + roll(0xffffff) };
	const union ctl_cm_sockaddr none = { 0 }, peer = address("10.0.0.2:7000");
	struct ctl_cm_listed listed;

	cma_id_describe(id, &listed);
	switch ((enum ctl_cm_state)listed.state) {
	case CTL_CM_IDLE:
	case CTL_CM_BOUND:
		a.neighbor = b.neighbor = roll(2) ? -EINPROGRESS : 0;
		(void)cma_id_resolve_addr(id, &none, &peer);
		break;
	case CTL_CM_ADDR_QUERY: cma_id_neighbor(id, roll(2) ? -ETIMEDOUT : 0); break;
	case CTL_CM_ADDR_RESOLVED: (void)cma_id_resolve_route(id); break;
	case CTL_CM_ROUTE_RESOLVED: (void)cma_id_connect(id, &conn, now_ns); break;
	case CTL_CM_REQUESTED: (void)cma_id_accept(id, &conn, now_ns); break;
	case CTL_CM_CONNECTING: (void)cma_id_establish(id); break;
	case CTL_CM_ESTABLISHED:
	case CTL_CM_DISCONNECTING: (void)cma_id_disconnect(id, now_ns); break;
	case CTL_CM_LISTENING:
	case CTL_CM_DISCONNECTED:
	case CTL_CM_REJECTED: break;
	}
}

static void random_mad(uint32_t which)
{
	const struct cm_path path = { .src = { .raw = { [15] = 1 } },
				      .dst = { .raw = { [15] = 2 } } };
	uint8_t mad[CM_MAD_BYTES];
	struct cm_msg msg = { .attr = (enum cm_attr)(CM_REQ + roll(CM_APR - CM_REQ + 1)) };

	msg.local_comm_id = roll(8);
	msg.remote_comm_id = roll(8);
	if (msg.attr == CM_REQ)
		msg.u.req.service_id = cm_ip_service_id(CTL_CM_PS_TCP, 7000);
	cm_msg_emit(mad, &msg);
	for (uint32_t i = roll(4); i; i--)
		mad[roll(CM_MAD_BYTES)] = (uint8_t)roll(256);
	cma_ids_input(which ? b.ids : a.ids, &path, mad, now_ns);
}

static void step(void)
{
	const uint32_t which = roll(2);
	struct side *side = which ? &b : &a;
	struct cma_id *id = num_ids[which] ? ids[which][roll(num_ids[which])] : NULL;

	side->unread = roll(3);
	if (roll(20) == 0)
		lose(1 + roll(3));
	if (!id || roll(6) == 0)
		keep(which, make_id(side, roll(4) ? CTL_CM_PS_TCP : CTL_CM_PS_UDP, 1 + roll(1000)));
	else if (roll(12) == 0)
		destroy(which, roll(num_ids[which]));
	else if (roll(2))
		advance(id);
	else if (roll(2))
		set_up(id);
	else
		use(id);
	if (roll(10) == 0)
		random_mad(which);
	if (roll(3) == 0)
		deliver();
	if (roll(20) == 0)
		pass_ms(roll(20000));
	adopt(0);
	adopt(1);
	forget();
}

/* Ids whose event was overwritten by a later one are found here. */
static void destroy_all(void)
{
	struct cma_id *id;

	while ((id = cma_id_next(a.ids, NULL)))
		cma_id_destroy(id, now_ns);
	while ((id = cma_id_next(b.ids, NULL)))
		cma_id_destroy(id, now_ns);
	num_ids[0] = num_ids[1] = 0;
}

START_TEST(everything_ends)
{
	state = (uint64_t)_i;
	for (uint32_t i = 0; i < STEPS; i++)
		step();
	destroy_all();
	for (int i = 0; i < 100; i++) {
		pass_ms(100000);
		forget();
	}
	ck_assert_uint_eq(cma_ids_deadline(a.ids), UINT64_MAX);
	ck_assert_uint_eq(cma_ids_deadline(b.ids), UINT64_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cma_id_random");
	TCase *tc = tcase_create("cma_id_random");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_loop_test(tc, everything_ends, 0, 20);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
