/* SPDX-License-Identifier: MIT */
/* Messages of the communication manager: each field is where the standard has it, and every CM MAD
 * of rdma_rxe's captures (tests/wire) says what its case says and is emitted again byte for byte.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/cm_msg.h"
#include "net/wire/packet.h"
#include "tests/suite.h"
#include "wire_vectors.h"

#define CM_MADS 12u
#define BODY	MAD_HEADER_BYTES

static const struct vector *vectors;
static size_t num_vectors;

/* The MAD of a packet to QP 1, or NULL. */
static const uint8_t *mad_of(const struct vector *v)
{
	struct wire_packet packet;

	if (wire_parse(&packet, v->p, v->len) != WIRE_OK || packet.bth.dest_qpn != MAD_GSI_QPN)
		return NULL;
	ck_assert_uint_eq(packet.payload_len, CM_MAD_BYTES);
	ck_assert_uint_eq(packet.deth.qkey, MAD_GSI_QKEY);
	ck_assert_uint_eq(packet.deth.src_qpn, MAD_GSI_QPN);
	return packet.payload;
}

/* The nth (from 0) MAD of a file. */
static struct cm_msg msg_of(const char *file, unsigned n)
{
	struct cm_msg msg;

	for (size_t i = 0; i < num_vectors; i++) {
		const uint8_t *mad =
			strcmp(vectors[i].file, file) == 0 ? mad_of(&vectors[i]) : NULL;

		if (mad && n-- == 0) {
			ck_assert(cm_msg_parse(&msg, mad));
			return msg;
		}
	}
	ck_abort_msg("%s has no such MAD", file);
}

START_TEST(parse_and_emit)
{
	unsigned count = 0;

	for (size_t i = 0; i < num_vectors; i++) {
		const uint8_t *mad = mad_of(&vectors[i]);
		uint8_t again[CM_MAD_BYTES];
		struct cm_msg msg;

		if (!mad)
			continue;
		ck_assert(cm_msg_parse(&msg, mad));
		memset(again, 0xa5, sizeof(again));
		cm_msg_emit(again, &msg);
		ck_assert_msg(memcmp(again, mad, CM_MAD_BYTES) == 0, "%s packet %u differs",
			      vectors[i].file, vectors[i].number);
		count++;
	}
	ck_assert_uint_eq(count, CM_MADS);
}
END_TEST

START_TEST(golden_req)
{
	const struct cm_msg msg = msg_of("cm_rping.pcap", 0);
	const struct cm_req *req = &msg.u.req;
	struct cm_ip_header ip;

	ck_assert_int_eq(msg.attr, CM_REQ);
	ck_assert_str_eq(cm_attr_str(msg.attr), "REQ");
	ck_assert_uint_eq(msg.tid, 0x00000004c98981e8);
	ck_assert_uint_eq(msg.local_comm_id, 0xe88189c9);
	ck_assert_uint_eq(req->service_id, cm_ip_service_id(0x0106, 7174));
	ck_assert_uint_eq(req->local_ca_guid, 0x000000fffe000902);
	ck_assert_uint_eq(req->local_qpn, 0x3c);
	ck_assert_uint_eq(req->starting_psn, 0x285950);
	ck_assert_uint_eq(req->responder_resources, 1);
	ck_assert_uint_eq(req->initiator_depth, 1);
	ck_assert_uint_eq(req->remote_cm_timeout, 20);
	ck_assert_uint_eq(req->local_cm_timeout, 20);
	ck_assert_uint_eq(req->transport, CM_TRANSPORT_RC);
	ck_assert_uint_eq(req->retry_count, 7);
	ck_assert_uint_eq(req->rnr_retry_count, 7);
	ck_assert_uint_eq(req->max_cm_retries, 15);
	ck_assert_uint_eq(req->pkey, 0xffff);
	ck_assert_uint_eq(req->path_mtu, 5);
	ck_assert_uint_eq(req->primary.local_lid, CM_LID_PERMISSIVE);
	ck_assert_uint_eq(req->primary.hop_limit, 64);
	ck_assert_uint_eq(req->primary.flow_label, 0x2cc8f);
	ck_assert_uint_eq(req->primary.ack_timeout, 19);
	ck_assert(gid_is_v4(&req->primary.local_gid) && req->primary.local_gid.raw[15] == 2);
	ck_assert(gid_is_v4(&req->primary.remote_gid) && req->primary.remote_gid.raw[15] == 1);
	ck_assert(cm_ip_header_parse(&ip, msg.private_data));
	ck_assert_uint_eq(ip.cma_version, 0);
	ck_assert_uint_eq(ip.src_port, 0x9a57);
	ck_assert(gid_equal(&ip.src, &req->primary.local_gid));
	ck_assert(gid_equal(&ip.dst, &req->primary.remote_gid));
}
END_TEST

START_TEST(golden_rep)
{
	const struct cm_msg msg = msg_of("cm_rping.pcap", 1);
	const struct cm_rep *rep = &msg.u.rep;

	ck_assert_int_eq(msg.attr, CM_REP);
	ck_assert_uint_eq(msg.local_comm_id, 0xeb8189c9);
	ck_assert_uint_eq(msg.remote_comm_id, 0xe88189c9);
	ck_assert_uint_eq(rep->local_qpn, 0x3c);
	ck_assert_uint_eq(rep->starting_psn, 0x416005);
	ck_assert_uint_eq(rep->responder_resources, 1);
	ck_assert_uint_eq(rep->initiator_depth, 1);
	ck_assert_uint_eq(rep->target_ack_delay, 15);
	ck_assert_uint_eq(rep->rnr_retry_count, 7);
	ck_assert_uint_eq(rep->local_ca_guid, 0x000000fffe000901);
}
END_TEST

START_TEST(golden_others)
{
	struct cm_msg msg = msg_of("cm_reject.pcap", 1);

	ck_assert_int_eq(msg.attr, CM_REJ);
	ck_assert_uint_eq(msg.u.rej.reason, CM_REJ_INVALID_SERVICE_ID);
	ck_assert_uint_eq(msg.u.rej.message_rejected, CM_ANSWERED_REQ);
	ck_assert_uint_eq(msg.local_comm_id, 0);
	msg = msg_of("cm_req_retry.pcap", 2);
	ck_assert_uint_eq(msg.u.rej.reason, CM_REJ_TIMEOUT);
	ck_assert_uint_eq(msg.u.rej.message_rejected, CM_ANSWERED_OTHER);
	ck_assert_uint_eq(msg.u.rej.ari_len, 8);
	msg = msg_of("cm_rping.pcap", 3);
	ck_assert_int_eq(msg.attr, CM_DREQ);
	ck_assert_uint_eq(msg.u.dreq.remote_qpn, 0x3c);
	msg = msg_of("cm_sidr.pcap", 0);
	ck_assert_uint_eq(msg.u.sidr_req.service_id, cm_ip_service_id(0x0111, 7174));
	msg = msg_of("cm_sidr.pcap", 1);
	ck_assert_uint_eq(msg.u.sidr_rep.status, CM_SIDR_SUCCESS);
	ck_assert_uint_eq(msg.u.sidr_rep.qpn, 0x3d);
	ck_assert_uint_eq(msg.u.sidr_rep.qkey, 0x01234567);
}
END_TEST

/* Where the standard has fields that no capture fills: byte after the header, and its value. */
START_TEST(rare_fields)
{
	uint8_t mad[CM_MAD_BYTES];
	struct cm_msg msg = { .attr = CM_REQ, .ece_options = 0x01020304 };

	msg.u.req.vendor_id = 0xabcdef;
	msg.u.req.transport = CM_TRANSPORT_EXTENDED;
	msg.u.req.extended_transport = CM_TRANSPORT_EXTENDED_XRC;
	msg.u.req.flow_control = true;
	msg.u.req.rdc_exists = true;
	msg.u.req.srq = true;
	msg.u.req.sap_supported = true;
	msg.u.req.alternate.packet_rate = 0x3f;
	msg.u.req.alternate.subnet_local = true;
	cm_msg_emit(mad, &msg);
	ck_assert_mem_eq(mad + 20, "\1\2\3\4", 4);
	ck_assert_mem_eq(mad + BODY + 4, "\0\xab\xcd\xef", 4);
	ck_assert_uint_eq(mad[BODY + 43], 0x07);
	ck_assert_uint_eq(mad[BODY + 50], 0x08);
	ck_assert_uint_eq(mad[BODY + 51], 0x09);
	ck_assert_uint_eq(mad[BODY + 135], 0x3f);
	ck_assert_uint_eq(mad[BODY + 138], 0x08);
	ck_assert_uint_eq(mad[BODY + 139], 0x04);

	msg = (struct cm_msg){ .attr = CM_REP, .u.rep = { .vendor_id = 0xabcdef, .srq = true } };
	msg.u.rep.failover_accepted = 2;
	cm_msg_emit(mad, &msg);
	ck_assert_uint_eq(mad[BODY + 15], 0xab);
	ck_assert_uint_eq(mad[BODY + 19], 0xcd);
	ck_assert_uint_eq(mad[BODY + 23], 0xef);
	ck_assert_uint_eq(mad[BODY + 26], 0x04);
	ck_assert_uint_eq(mad[BODY + 27], 0x10);
	ck_assert(cm_msg_parse(&msg, mad));
	ck_assert_uint_eq(msg.u.rep.vendor_id, 0xabcdef);
}
END_TEST

/* Every bit of a MAD of ones lands in a member; emitted and parsed again, the struct is the same.
 */
START_TEST(all_ones)
{
	for (uint8_t attr = CM_REQ; attr <= CM_APR; attr++) {
		uint8_t mad[CM_MAD_BYTES], again[CM_MAD_BYTES], third[CM_MAD_BYTES];
		struct cm_msg msg = { .attr = (enum cm_attr)attr };

		cm_msg_emit(mad, &msg);
		memset(mad + BODY, 0xff, CM_MAD_BYTES - BODY);
		ck_assert(cm_msg_parse(&msg, mad));
		cm_msg_emit(again, &msg);
		for (size_t i = BODY; i < CM_MAD_BYTES; i++)
			again[i] &= mad[i];
		ck_assert(cm_msg_parse(&msg, again));
		cm_msg_emit(third, &msg);
		ck_assert_mem_eq(third, again, CM_MAD_BYTES);
		ck_assert_uint_eq(msg.private_len, cm_private_max((enum cm_attr)attr));
	}
}
END_TEST

START_TEST(not_ours)
{
	const struct cm_msg rtu = { .attr = CM_RTU };
	struct cm_msg msg;
	uint8_t mad[CM_MAD_BYTES];
	static const uint8_t at[] = { 0, 1, 2, 3, 16 };

	for (size_t i = 0; i < sizeof(at); i++) {
		cm_msg_emit(mad, &rtu);
		ck_assert(cm_msg_parse(&msg, mad));
		mad[at[i]] ^= 0x80;
		ck_assert(!cm_msg_parse(&msg, mad));
	}
	for (unsigned attr = 0; attr < 256; attr++) {
		cm_msg_emit(mad, &rtu);
		mad[17] = (uint8_t)attr;
		ck_assert_int_eq(cm_msg_parse(&msg, mad), attr >= CM_REQ && attr <= CM_APR);
	}
}
END_TEST

START_TEST(ip_header)
{
	struct cm_ip_header in = { .ip_version = 6, .src_port = 0x1234 }, out;
	uint8_t p[CM_IP_HEADER_BYTES];

	memset(in.src.raw, 0xfd, sizeof(in.src.raw));
	memset(in.dst.raw, 0xfe, sizeof(in.dst.raw));
	cm_ip_header_emit(p, &in);
	ck_assert_mem_eq(p, "\x00\x60\x12\x34\xfd", 5);
	ck_assert(cm_ip_header_parse(&out, p));
	ck_assert(gid_equal(&out.src, &in.src) && gid_equal(&out.dst, &in.dst));
	in.ip_version = 4;
	cm_ip_header_emit(p, &in);
	ck_assert_mem_eq(p + 4, "\0\0\0\0\0\0\0\0\0\0\0\0\xfd\xfd\xfd\xfd", 16);
	ck_assert(cm_ip_header_parse(&out, p) && gid_is_v4(&out.src) && gid_is_v4(&out.dst));
	p[1] = 0x50;
	ck_assert(!cm_ip_header_parse(&out, p));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wire_cm");
	TCase *tc = tcase_create("messages");

	num_vectors = vectors_load(&vectors);
	tcase_add_test(tc, parse_and_emit);
	tcase_add_test(tc, golden_req);
	tcase_add_test(tc, golden_rep);
	tcase_add_test(tc, golden_others);
	tcase_add_test(tc, rare_fields);
	tcase_add_test(tc, all_ones);
	tcase_add_test(tc, not_ours);
	tcase_add_test(tc, ip_header);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
