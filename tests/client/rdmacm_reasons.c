// SPDX-License-Identifier: MIT
/* Every refusal says why: the sentence that a call of librdmacm logs when it fails. The program
 * reads its own log. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "fixture.h"
#include "log_lines.h"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id, *other;

static void setup(void)
{
	channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(channel);
	ck_assert_int_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_create_id(channel, &other, NULL, RDMA_PS_TCP), 0);
	log_lines_begin();
}

static void teardown(void)
{
	log_lines_none();
	log_lines_end();
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	ck_assert_int_eq(rdma_destroy_id(other), 0);
	rdma_destroy_event_channel(channel);
}

START_TEST(ids_without_device)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	const char *why = "the id has no device yet: bind it to an address, or resolve one "
			  "(rdma_resolve_addr(3))";

	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), -1);
	log_line_is("rdma_create_qp_ex: %s", why);
	ck_assert_int_eq(rdma_connect(id, NULL), -1);
	log_line_is("rdma_connect: %s", why);
	ck_assert_int_eq(rdma_accept(id, NULL), -1);
	log_line_is("rdma_accept: %s", why);
	ck_assert_int_eq(rdma_disconnect(id), -1);
	log_line_is("rdma_disconnect: %s", why);
}
END_TEST

START_TEST(addresses)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(7171) };
	struct rdma_cm_id *request;

	ck_assert_int_eq(rdma_bind_addr(id, (struct sockaddr *)&addr), 0);
	ck_assert_int_eq(rdma_bind_addr(other, (struct sockaddr *)&addr), -1);
	log_line_is("rdma_bind_addr: another id has the port at this address ('rxe_dm show' lists "
		    "listeners) (rdma_bind_addr(3))");
	ck_assert_int_eq(rdma_get_request(id, &request), -1);
	log_line_is("rdma_get_request: the listener has an event channel, which has its requests: "
		    "use rdma_get_cm_event() (rdma_get_request(3))");
	addr.sin_family = 99;
	ck_assert_int_eq(rdma_bind_addr(other, (struct sockaddr *)&addr), -1);
	log_line_is("rdma_bind_addr: address family 99 is neither AF_INET nor AF_INET6");
	ck_assert_int_eq(rdma_listen(NULL, 1), -1);
	log_line_is("rdma_listen: id is NULL");
}
END_TEST

/* What the state of the id does not permit: the sentence says which events come first. */
START_TEST(states)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(7272) };
	const char *state = "('rxe_dm show' has the id's state)";
	uint8_t tos[3] = { 0 };

	ck_assert_int_eq(rdma_resolve_route(id, 1000), -1);
	log_line_is("rdma_resolve_route: the id has no resolved address, or has a route: wait for "
		    "RDMA_CM_EVENT_ADDR_RESOLVED first %s (rdma_resolve_route(3))",
		    state);
	ck_assert_int_eq(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, tos, sizeof(tos)),
			 -1);
	log_line_is("rdma_set_option: the option's value has another length or is out of range, or "
		    "the id is too far for it: set options before the id is bound %s "
		    "(rdma_set_option(3))",
		    state);
	ck_assert_int_eq(rdma_reject(id, NULL, 0), -1);
	log_line_is("rdma_reject: the id has no connection request that waits for an answer, or "
		    "more private data than its port space carries %s (rdma_reject(3))",
		    state);
	ck_assert_int_eq(rdma_notify(id, IBV_EVENT_COMM_EST), -1);
	log_line_is("rdma_notify: the id has no connection that waits for its first message, or "
		    "the event is not IBV_EVENT_COMM_EST %s (rdma_notify(3))",
		    state);
	ck_assert_int_eq(rdma_listen(id, 1), 0);
	ck_assert_int_eq(rdma_listen(id, 1), -1);
	log_line_is("rdma_listen: the id listens already, or resolves an address or is connected: "
		    "listen on a new or a bound id %s (rdma_listen(3))",
		    state);
	ck_assert_int_eq(rdma_bind_addr(id, (struct sockaddr *)&addr), -1);
	log_line_is("rdma_bind_addr: the id has an address already: an id is bound once, before it "
		    "resolves an address %s (rdma_bind_addr(3))",
		    state);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), -1);
	log_line_is("rdma_resolve_addr: the id listens, resolves an address or has one resolved, "
		    "or is bound to an address of the other family %s (rdma_resolve_addr(3))",
		    state);
}
END_TEST

/* The verb says why, and the call names the verb. */
START_TEST(verbs_below)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 1u << 30 } };
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_conn_param param = { .initiator_depth = 200 };
	struct rdma_cm_event *event;
	union ibv_gid gid;

	/* The address of the device, which the instance of the test has chosen. */
	struct ibv_context *context = fixture_open();

	ck_assert_int_eq(ibv_query_gid(context, 1, 0, &gid), 0);
	memcpy(&addr.sin_addr, gid.raw + 12, 4);
	ck_assert_int_eq(ibv_close_device(context), 0);
	addr.sin_port = htons(9);
	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 10000), 0);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq(event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), -1);
	ck_assert(strstr(log_line(), "ibv_create_qp: max_inline_data 1073741824 is above the "
				     "device's "));
	log_line_is("rdma_create_qp_ex: ibv_create_qp was refused");
	ck_assert_int_eq(rdma_connect(id, &param), -1);
	ck_assert(strstr(log_line(), "rdma_connect: initiator_depth 200 is above the device's "));
	param = (struct rdma_conn_param){ .qp_num = 1 };
	ck_assert_int_eq(rdma_connect(id, &param), -1);
	log_line_is("rdma_connect: the id has no resolved route (wait for "
		    "RDMA_CM_EVENT_ROUTE_RESOLVED), connects already, or has more private data "
		    "than its port space carries ('rxe_dm show' has the id's state) "
		    "(rdma_connect(3))");
	ck_assert_int_eq(rdma_accept(id, &param), -1);
	log_line_is("rdma_accept: the id has no connection request that waits for an answer, or "
		    "more private data than its port space carries: accept the id of "
		    "RDMA_CM_EVENT_CONNECT_REQUEST, once ('rxe_dm show' has the id's state) "
		    "(rdma_accept(3))");
	ck_assert_int_eq(rdma_disconnect(id), -1);
	log_line_is("rdma_disconnect: the id was never connected: connect or accept first "
		    "('rxe_dm show' has the id's state) (rdma_disconnect(3))");
	ck_assert_int_eq(rdma_establish(id), -1);
	log_line_is("rdma_establish: the id has no answer to complete: wait for "
		    "RDMA_CM_EVENT_CONNECT_RESPONSE ('rxe_dm show' has the id's state) "
		    "(rdma_establish(3))");
	ck_assert_int_eq(rdma_join_multicast(id, (struct sockaddr *)&addr, NULL), -1);
	ck_assert(strstr(log_line(), "rdma_join_multicast: "));
	ck_assert_int_eq(rdma_leave_multicast(id, (struct sockaddr *)&addr), -1);
	log_line_is("rdma_leave_multicast: the id has not joined this group "
		    "(rdma_leave_multicast(3))");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, ids_without_device);
	tcase_add_test(tests, addresses);
	tcase_add_test(tests, states);
	tcase_add_test(tests, verbs_below);
}

int main(void)
{
	return fixture_main("rdmacm_reasons", add);
}
