/* SPDX-License-Identifier: MIT */
/* The exchanges that Linux's connection manager had with itself (tests/wire/cm_*.pcap), with each
 * end in turn played by ours. What ours sends is, byte for byte, what Linux sent there, but for
 * the numbers that each end chooses: communication IDs and transaction IDs. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/packet.h"
#include "rxe_dm/cm/cm.h"
#include "tests/sim/cm_names.h"
#include "tests/suite.h"
#include "tests/unit/wire_vectors.h"

enum role { ACTIVE = 2, PASSIVE = 1 }; /* last byte of the end's address */

#define MAX_SENT 8u

static const struct golden {
	const char *file;
	enum role role;
	const char *events;
} goldens[] = {
	{ "cm_rping.pcap", ACTIVE, "REP_RECEIVED DREP_RECEIVED " },
	{ "cm_rping.pcap", PASSIVE, "REQ_RECEIVED RTU_RECEIVED DREQ_RECEIVED " },
	{ "cm_reject.pcap", ACTIVE, "REJ_RECEIVED " },
	{ "cm_reject.pcap", PASSIVE, "" },
	{ "cm_req_retry.pcap", ACTIVE, "" },
	{ "cm_req_retry.pcap", PASSIVE, "REQ_RECEIVED REJ_RECEIVED " },
	{ "cm_sidr.pcap", ACTIVE, "SIDR_REP_RECEIVED " },
	{ "cm_sidr.pcap", PASSIVE, "SIDR_REQ_RECEIVED " },
};

static const struct vector *vectors;
static size_t num_vectors;

/* Numbers that an end chose: in the capture, and here. */
struct number {
	uint64_t theirs, ours;
};

static struct play {
	struct cm *cm;
	struct cm_id *id;
	struct cm_path path;
	uint64_t now_ns;
	uint8_t sent[MAX_SENT][CM_MAD_BYTES];
	uint32_t num_sent, next_sent;
	char events[200];
	struct number comm_id, tid; /* of the end that we play */
	bool has_req;
} play;

static void on_send(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	(void)host;
	ck_assert(gid_equal(&path->dst, &play.path.dst) && gid_equal(&path->src, &play.path.src));
	ck_assert_uint_lt(play.num_sent, MAX_SENT);
	memcpy(play.sent[play.num_sent++], mad, CM_MAD_BYTES);
}

static void on_event(void *host, const struct cm_event *event)
{
	(void)host;
	strcat(strcat(play.events, cm_event_str(event->type)), " ");
	if (event->listener)
		play.id = event->id;
}

static uint32_t on_random(void *host)
{
	(void)host;
	return 0x12345678;
}

static const struct cm_ops ops = { .send = on_send, .event = on_event, .random = on_random };

static void listen_at(uint64_t service_id)
{
	ck_assert_int_eq(cm_listen(cm_id_create(play.cm, NULL), service_id, NULL, 0), 0);
}

static void begin(const struct vector *first, enum role role)
{
	const struct cm_cfg cfg = { .ops = &ops, .max_ids = 8 };
	const bool is_ours = first->flow.src.raw[15] == role;

	memset(&play, 0, sizeof(play));
	play.path.src = is_ours ? first->flow.src : first->flow.dst;
	play.path.dst = is_ours ? first->flow.dst : first->flow.src;
	play.cm = cm_new(&cfg);
	listen_at(cm_ip_service_id(0x0106, 7174));
	listen_at(cm_ip_service_id(0x0111, 7174));
	if (role == ACTIVE)
		play.id = cm_id_create(play.cm, NULL);
}

static uint64_t here(const struct number *number, uint64_t value)
{
	return number->theirs && value == number->theirs ? number->ours : value;
}

/* The message as it would have been with our numbers in it. */
static struct cm_msg translated(const struct cm_msg *msg)
{
	struct cm_msg ours = *msg;

	ours.tid = here(&play.tid, msg->tid);
	ours.local_comm_id = (uint32_t)here(&play.comm_id, msg->local_comm_id);
	ours.remote_comm_id = (uint32_t)here(&play.comm_id, msg->remote_comm_id);
	if (msg->attr == CM_SIDR_REQ || msg->attr == CM_SIDR_REP) /* at the same place in both */
		ours.u.sidr_req.request_id =
			(uint32_t)here(&play.comm_id, msg->u.sidr_req.request_id);
	return ours;
}

static void arrive(const struct cm_msg *msg)
{
	const struct cm_msg ours = translated(msg);
	uint8_t mad[CM_MAD_BYTES];

	cm_msg_emit(mad, &ours);
	cm_input(play.cm, &play.path, mad, play.now_ns);
}

/* A REQ that has been sent before comes from the timer. */
static int send_req(const struct cm_msg *msg)
{
	if (!play.has_req) {
		play.has_req = true;
		return cm_send_req(play.id, &play.path, msg, play.now_ns);
	}
	play.now_ns = cm_deadline(play.cm);
	cm_expire(play.cm, play.now_ns);
	return 0;
}

/* The program was killed, or (nothing to do) the manager refuses by itself. */
static int send_rej(const struct cm_msg *msg)
{
	if (msg->u.rej.reason == CM_REJ_TIMEOUT)
		cm_id_destroy(play.id, play.now_ns);
	return 0;
}

/* Does what the end that we play did for this message to leave. */
static int act(const struct cm_msg *msg)
{
	switch (msg->attr) {
	case CM_REQ: return send_req(msg);
	case CM_REP: return cm_send_rep(play.id, msg, play.now_ns);
	case CM_RTU: return cm_send_rtu(play.id, msg);
	case CM_REJ: return send_rej(msg);
	case CM_DREQ: return cm_send_dreq(play.id, msg, play.now_ns);
	case CM_DREP: return cm_send_drep(play.id, msg, play.now_ns);
	case CM_SIDR_REQ:
		return cm_send_sidr_req(play.id, &play.path, msg, 4096000000, 15, play.now_ns);
	case CM_SIDR_REP: return cm_send_sidr_rep(play.id, msg, play.now_ns);
	case CM_MRA:
	case CM_LAP:
	case CM_APR: break;
	}
	return -1;
}

/* The numbers of the end that we play, from its first message. */
static void learn(const struct cm_msg *theirs, const struct cm_msg *ours)
{
	if (theirs->attr == CM_REQ || theirs->attr == CM_SIDR_REQ)
		play.tid = (struct number){ theirs->tid, ours->tid };
	if (theirs->attr == CM_REQ || theirs->attr == CM_REP)
		play.comm_id = (struct number){ theirs->local_comm_id, ours->local_comm_id };
	if (theirs->attr == CM_SIDR_REQ)
		play.comm_id = (struct number){ theirs->u.sidr_req.request_id,
						ours->u.sidr_req.request_id };
}

static void leave(const struct golden *golden, uint32_t number, const struct cm_msg *theirs)
{
	struct cm_msg stripped = *theirs, ours, wanted;
	uint8_t mad[CM_MAD_BYTES];

	stripped.tid = stripped.local_comm_id = stripped.remote_comm_id = 0;
	ck_assert_int_eq(act(&stripped), 0);
	ck_assert_msg(play.next_sent < play.num_sent, "%s packet %u: nothing is sent", golden->file,
		      number);
	ck_assert(cm_msg_parse(&ours, play.sent[play.next_sent]));
	learn(theirs, &ours);
	wanted = translated(theirs);
	cm_msg_emit(mad, &wanted);
	ck_assert_msg(memcmp(mad, play.sent[play.next_sent], CM_MAD_BYTES) == 0,
		      "%s packet %u: our %s is another", golden->file, number,
		      cm_attr_str(ours.attr));
	play.next_sent++;
}

START_TEST(same_bytes)
{
	const struct golden *golden = &goldens[_i];
	bool has_begun = false;

	for (size_t i = 0; i < num_vectors; i++) {
		const struct vector *v = &vectors[i];
		struct wire_packet packet;
		struct cm_msg msg;

		if (strcmp(v->file, golden->file) != 0 ||
		    wire_parse(&packet, v->p, v->len) != WIRE_OK ||
		    packet.bth.dest_qpn != MAD_GSI_QPN)
			continue;
		ck_assert(cm_msg_parse(&msg, packet.payload));
		if (!has_begun)
			begin(v, golden->role);
		has_begun = true;
		if (v->flow.src.raw[15] == golden->role)
			leave(golden, v->number, &msg);
		else
			arrive(&msg);
	}
	ck_assert(has_begun);
	ck_assert_uint_eq(play.next_sent, play.num_sent);
	ck_assert_str_eq(play.events, golden->events);
	cm_free(play.cm);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cm_golden");
	TCase *tc = tcase_create("exchanges of Linux");

	num_vectors = vectors_load(&vectors);
	tcase_add_loop_test(tc, same_bytes, 0, sizeof(goldens) / sizeof(goldens[0]));
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
