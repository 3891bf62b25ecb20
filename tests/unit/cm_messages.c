// SPDX-License-Identifier: MIT
/* Messages of the communication manager field by field where the traces show only their kinds:
 * numbers that this end chooses, and answers to messages that come again. */
#include <check.h>

#include "net/wire/packet.h"
#include "rxe_dm/cm/cm.h"
#include "tests/suite.h"

#define SERVICE 0x1061c06u
#define TIMEOUT 14 /* 67 ms */

static struct cm *cm;
static struct cm_id *id; /* of the last request that arrived */
static struct cm_msg sent;
static uint32_t num_sent, random_number;
static const struct cm_path path = { .hop_limit = 64 };

static void keep_message(void *host, const struct cm_path *to, const uint8_t mad[CM_MAD_BYTES])
{
	(void)host;
	(void)to;
	ck_assert(cm_msg_parse(&sent, mad));
	num_sent++;
}

static void keep_id(void *host, const struct cm_event *event)
{
	(void)host;
	if (event->type == CM_EVENT_REQ_RECEIVED)
		id = event->id;
}

static uint32_t chosen(void *host)
{
	(void)host;
	return random_number;
}

static void setup(void)
{
	static const struct cm_ops ops = { .send = keep_message,
					   .event = keep_id,
					   .random = chosen };
	struct cm_id *listener;

	random_number = 0xaabbccdd;
	num_sent = 0;
	cm = cm_new(&(struct cm_cfg){ .ops = &ops, .max_ids = 8 });
	ck_assert_ptr_nonnull(cm);
	listener = cm_id_create(cm, NULL);
	ck_assert_int_eq(cm_listen(listener, SERVICE, NULL, CM_ANY_DEVICE), 0);
}

static void teardown(void)
{
	cm_free(cm);
}

static struct cm_msg req(void)
{
	return (struct cm_msg){
		.attr = CM_REQ,
		.tid = 5,
		.local_comm_id = 0x55,
		.u.req = { .service_id = SERVICE,
			   .local_ca_guid = 0x99,
			   .local_qpn = 0x11,
			   .local_cm_timeout = TIMEOUT,
			   .remote_cm_timeout = TIMEOUT,
			   .max_cm_retries = 1 },
	};
}

static void arrive(const struct cm_msg *msg)
{
	uint8_t mad[CM_MAD_BYTES];

	cm_msg_emit(mad, msg);
	cm_input(cm, &path, mad, 0);
}

/* A request arrives, and the program accepts it. */
static void accepted(void)
{
	const struct cm_msg msg = req();
	const struct cm_msg rep = { .attr = CM_REP,
				    .u.rep = { .local_qpn = 0x22, .local_ca_guid = 0x1234 } };

	arrive(&msg);
	ck_assert_int_eq(cm_send_rep(id, &rep, 0), 0);
}

START_TEST(transaction_ids)
{
	const struct cm_msg msg = req(), sidr = { .attr = CM_SIDR_REQ };
	struct cm_id *one = cm_id_create(cm, NULL), *two = cm_id_create(cm, NULL);

	random_number = 7;
	ck_assert_int_eq(cm_send_req(one, &path, &msg, 0), 0);
	ck_assert_uint_eq(sent.tid, 0xaabbccdd00000007);
	ck_assert_uint_eq(sent.local_comm_id, 7);
	random_number = 0x70000000;
	ck_assert_int_eq(cm_send_sidr_req(two, &path, &sidr, 1000, 0, 0), 0);
	ck_assert_uint_eq(sent.tid, 0xaabbccdd70000000);
	ck_assert_uint_eq(sent.u.sidr_req.request_id, 0x70000000);
}
END_TEST

/* 0 is no communication ID, and a number in use is not given again. */
START_TEST(communication_ids)
{
	const struct cm_msg msg = req();

	random_number = 0;
	for (uint32_t i = 1; i <= 3; i++) {
		ck_assert_int_eq(cm_send_req(cm_id_create(cm, NULL), &path, &msg, 0), 0);
		ck_assert_uint_eq(sent.local_comm_id, i);
	}
}
END_TEST

START_TEST(refused_without_an_id)
{
	const struct cm_msg msg = req(), rej = { .attr = CM_REJ, .u.rej.reason = 28 };

	arrive(&msg);
	ck_assert_int_eq(cm_send_rej(id, &rej, 0), 0);
	ck_assert_int_eq(sent.attr, CM_REJ);
	ck_assert_uint_eq(sent.local_comm_id, 0);
	ck_assert_uint_eq(sent.remote_comm_id, 0x55);
}
END_TEST

/* The REJ after a REP without an RTU names this end by the GUID in the REP. */
START_TEST(gives_up_under_its_guid)
{
	accepted();
	while (sent.attr == CM_REP && cm_deadline(cm) != UINT64_MAX)
		cm_expire(cm, cm_deadline(cm));
	ck_assert_int_eq(sent.attr, CM_REJ);
	ck_assert_uint_eq(sent.u.rej.reason, CM_REJ_TIMEOUT);
	ck_assert_uint_eq(sent.u.rej.ari_len, 8);
	ck_assert_uint_eq(get_be64(sent.u.rej.ari), 0x1234);
}
END_TEST

/* The REJ that withdraws a REP is lost, and the REQ comes again. */
START_TEST(req_again_after_a_withdrawn_rep)
{
	const struct cm_msg msg = req(), rej = { .attr = CM_REJ, .u.rej.reason = 28 };

	accepted();
	ck_assert_int_eq(cm_send_rej(id, &rej, 0), 0);
	num_sent = 0;
	arrive(&msg);
	ck_assert_uint_eq(num_sent, 1);
	ck_assert_int_eq(sent.attr, CM_REJ);
	ck_assert_uint_eq(sent.u.rej.reason, 28);
	ck_assert_uint_eq(sent.remote_comm_id, 0x55);
}
END_TEST

/* A connection that ended in the usual way has no REJ to repeat. */
START_TEST(req_again_while_disconnecting)
{
	const struct cm_msg msg = req(), dreq = { .attr = CM_DREQ };

	accepted();
	ck_assert_int_eq(cm_established(id), 0);
	ck_assert_int_eq(cm_send_dreq(id, &dreq, 0), 0);
	num_sent = 0;
	arrive(&msg);
	ck_assert_uint_eq(num_sent, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cm_messages");
	TCase *tests = tcase_create("fields");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, transaction_ids);
	tcase_add_test(tests, communication_ids);
	tcase_add_test(tests, refused_without_an_id);
	tcase_add_test(tests, gives_up_under_its_guid);
	tcase_add_test(tests, req_again_after_a_withdrawn_rep);
	tcase_add_test(tests, req_again_while_disconnecting);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
