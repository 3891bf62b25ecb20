// SPDX-License-Identifier: MIT
/* lib/diagnose: the sentence for each kind of failure. */
#include <check.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/limits.h"
#include "emu/queue.h"
#include "lib/control/protocol.h"
#include "lib/control/shared.h"
#include "lib/diagnose/diagnose.h"
#include "tests/suite.h"

#define OWN_SLOT   1
#define PEER_QPN   0x020005u
#define WR_ID	   0x77
#define KEY	   0x00010203u
#define NO_PROCESS 999999999 /* no process has this PID */

static struct ctl_shared *shared;
static struct gid gids[RXE_MAX_GIDS];
static uint32_t link_kind;
static struct rxe_qp qp;
static union {
	struct rxe_send_wqe head;
	uint8_t room[sizeof(struct rxe_send_wqe) + sizeof(struct rxe_bind)];
} request;

static struct ctl_slot *peer_slot(void)
{
	return &shared->slot[PEER_QPN >> RXE_SLOT_SHIFT];
}

static struct ctl_shared_qp *peer_qp(void)
{
	return &peer_slot()->qp[PEER_QPN % RXE_MAX_QP];
}

/* A connected queue pair whose peer is on the same device, and a write of three packets in its send
 * queue. */
static void setup(void)
{
	const struct gid here = { .raw = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } };

	shared = aligned_alloc(alignof(struct ctl_shared), sizeof(*shared));
	ck_assert_ptr_nonnull(shared);
	memset(shared, 0, sizeof(*shared));
	gids[0] = here;
	link_kind = CTL_LINK_UDP;
	qp = (struct rxe_qp){
		.qpn = 0x010001,
		.type = RXE_QPT_RC,
		.pd = 2,
		.sq = { .mem = request.room, .stride = sizeof(request), .tail = 1 },
		.attr = { .dest_qp_num = PEER_QPN,
			  .retry_cnt = 7,
			  .rnr_retry = 2,
			  .path_mtu = 1024,
			  .max_dest_rd_atomic = 4 },
		.flow.dst = here,
		.rc.req = { .una_psn = 7, .sent_psn = 10 },
	};
	request.head = (struct rxe_send_wqe){ .wr_id = WR_ID,
					      .opcode = RXE_WR_RDMA_WRITE,
					      .rkey = KEY,
					      .remote_addr = 0x1004,
					      .len = 64 };
	memcpy(peer_slot()->comm, "peer", 5);
	peer_slot()->pid = NO_PROCESS;
	peer_qp()->qpn = PEER_QPN;
	peer_qp()->state = RXE_QPS_RTS;
	peer_qp()->dest_qpn = qp.qpn;
	shared->port_state = 4; /* IBV_PORT_ACTIVE */
}

static void teardown(void)
{
	free(shared);
}

static const char *why(enum rxe_failed what, enum rxe_wc_status status)
{
	static char text[CTL_FAILURE_WHY];
	const struct diagnosis d = {
		.gids = gids, .shared = shared, .slot = OWN_SLOT, .link = link_kind
	};

	diagnose_failure(text, sizeof(text), &d, &qp, what, status);
	return text;
}

static const char *send_failed(enum rxe_wc_status status)
{
	return why(RXE_FAILED_SEND, status);
}

static const char *refused(enum rc_fault fault)
{
	qp.rc.reply.fault = fault;
	qp.rc.reply.nak_psn = 9;
	return why(RXE_FAILED_RESPONSE, RXE_WC_SUCCESS);
}

/* Rule 3, which fired once in the process of this slot alone. */
static void fire_rule_in(uint32_t slot, const char *text)
{
	shared->faults.at[0].id = 3;
	strcpy(shared->faults.at[0].text, text);
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++)
		shared->slot[i].faults[0].id = 0;
	shared->slot[slot].faults[0].id = 3;
	shared->slot[slot].faults[0].fired = 1;
}

static void fire_rule(const char *text)
{
	fire_rule_in(OWN_SLOT, text);
}

/* An entry of the key table: [0x1000, 0x1040) in domain pd. */
static void add_key(uint32_t pd, uint32_t rights)
{
	struct rxe_mr *mr = &shared->mrs.entry[rxe_key_index(KEY)];

	mr->pd = pd;
	mr->rights = rights;
	mr->iova = 0x1000;
	mr->len = 64;
	mr->key = KEY;
}

#define RETRIES "sent PSN 7..9 8 times, no answer: "
static void expect_silent(const char *cause)
{
	char all[CTL_FAILURE_WHY];

	(void)snprintf(all, sizeof(all), RETRIES "%s", cause);
	ck_assert_str_eq(send_failed(RXE_WC_RETRY_EXC_ERR), all);
}

START_TEST(a_local_peer_is_silent)
{
	expect_silent("peer (process 999999999) has the QP, but did not run in time, or packets "
		      "were lost "
		      "('rxe_dm show' counts lost packets)");
	fire_rule("drop opcode=ACKNOWLEDGE");
	expect_silent("peer (process 999999999) has the QP, but fault rules drop, delay or change "
		      "packets "
		      "('rxe_dm fault list')");
	peer_qp()->dest_qpn = 0x010007;
	expect_silent("QP 0x020005 is connected to QP 0x010007, not to this one");
	peer_qp()->state = RXE_QPS_INIT;
	expect_silent("QP 0x020005 of peer (process 999999999) is in state INIT");
	peer_qp()->qpn = 0;
	expect_silent("peer (process 999999999) has no QP 0x020005");
	peer_slot()->pid = 0;
	expect_silent("the program of QP 0x020005 has exited");
	shared->port_state = 1; /* IBV_PORT_DOWN */
	expect_silent("the port is down: its interface is down or was removed");
	shared->faults.silent = 1;
	expect_silent("the port is down by a fault rule ('rxe_dm fault list')");
}
END_TEST

START_TEST(a_stopped_peer_is_silent)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	peer_slot()->pid = pid;
	ck_assert_ptr_nonnull(
		strstr(send_failed(RXE_WC_RETRY_EXC_ERR), "has the QP, but is stopped"));
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}
END_TEST

START_TEST(a_foreign_peer_is_silent)
{
	qp.flow.dst.raw[15] = 9;
	qp.attr.retry_cnt = 0;
	qp.rc.req.sent_psn = 8;
	ck_assert_str_eq(
		send_failed(RXE_WC_RETRY_EXC_ERR),
		"sent PSN 7 once, no answer: the peer has exited, its address is wrong, or UDP "
		"port 4791 is blocked");
	fire_rule("delay time=5ms");
	ck_assert_ptr_nonnull(
		strstr(send_failed(RXE_WC_RETRY_EXC_ERR), "; or fault rules here drop"));
}
END_TEST

START_TEST(a_foreign_peer_beyond_the_memory_link)
{
	qp.flow.dst.raw[15] = 9;
	link_kind = CTL_LINK_MEMORY;
	ck_assert_ptr_nonnull(strstr(send_failed(RXE_WC_RETRY_EXC_ERR),
				     "packets in memory reach no others ('--link udp' does)"));
}
END_TEST

static void peer_has_recorded(const char *cause)
{
	peer_slot()->failures.at[0].qpn = PEER_QPN;
	strcpy(peer_slot()->failures.at[0].why, cause);
	peer_slot()->failures.count = 1;
}

START_TEST(naks_of_the_peer)
{
	ck_assert_str_eq(
		send_failed(RXE_WC_RNR_RETRY_EXC_ERR),
		"the peer answered PSN 7 with an RNR NAK 3 times (rnr_retry 2): it has no receive "
		"posted; post receives earlier, or set a larger rnr_retry (7: no limit)");
	ck_assert_str_eq(
		send_failed(RXE_WC_REM_INV_REQ_ERR),
		"invalid request NAK for PSN 7: the peer's QP does not accept an RDMA write (its "
		"access flags)");
	request.head.opcode = RXE_WR_ATOMIC_FETCH_AND_ADD;
	request.head.remote_addr = 0x1004;
	ck_assert_str_eq(
		send_failed(RXE_WC_REM_INV_REQ_ERR),
		"invalid request NAK for PSN 7: the address of an atomic, 0x1004, is not a "
		"multiple of 8");
	request.head.opcode = RXE_WR_SEND;
	ck_assert_str_eq(
		send_failed(RXE_WC_REM_INV_REQ_ERR),
		"invalid request NAK for PSN 7: the peer's receive is shorter than the 64 bytes "
		"sent, or the packet does not continue what the peer received before");
	ck_assert_str_eq(send_failed(RXE_WC_REM_OP_ERR),
			 "operational NAK for PSN 7: the peer could not complete its own receive");
	peer_has_recorded("its receive names unmapped memory");
	ck_assert_str_eq(
		send_failed(RXE_WC_REM_OP_ERR),
		"operational NAK for PSN 7: the peer reports: its receive names unmapped memory");
}
END_TEST

/* A NAK of an invalid request has several causes: both ends name the same one. */
START_TEST(an_invalid_request_has_the_cause_of_the_peer)
{
	peer_has_recorded(refused(RC_FAULT_SEQUENCE));
	request.head.opcode = RXE_WR_SEND;
	ck_assert_str_eq(
		send_failed(RXE_WC_REM_INV_REQ_ERR),
		"invalid request NAK for PSN 7: the peer reports: refused the peer's request, "
		"PSN 9: FIRST, MIDDLE and LAST packets are not in sequence; packets of another or "
		"an earlier connection may have reached this QP");
	request.head.opcode = RXE_WR_RDMA_WRITE;
	ck_assert_ptr_nonnull(strstr(send_failed(RXE_WC_REM_INV_REQ_ERR), "are not in sequence"));
}
END_TEST

START_TEST(keys_of_the_peer)
{
#define REFUSED                                                                                    \
	"remote access NAK for PSN 7: rkey 0x00010203 does not permit an RDMA write of 64 bytes "  \
	"at 0x1004: "
	ck_assert_str_eq(send_failed(RXE_WC_REM_ACCESS_ERR), REFUSED "the key is not registered");
	add_key(5, RXE_REMOTE_READ);
	ck_assert_str_eq(send_failed(RXE_WC_REM_ACCESS_ERR),
			 REFUSED "the region was registered without that access right");
	add_key(5, RXE_REMOTE_WRITE);
	ck_assert_str_eq(send_failed(RXE_WC_REM_ACCESS_ERR),
			 REFUSED "the range is not inside the region");
	request.head.remote_addr = 0x1000;
	ck_assert_ptr_nonnull(strstr(
		send_failed(RXE_WC_REM_ACCESS_ERR),
		": the region belongs to another protection domain, or its memory is unmapped"));
	request.head.opcode = RXE_WR_SEND_WITH_INV;
	ck_assert_str_eq(send_failed(RXE_WC_REM_ACCESS_ERR),
			 "remote access NAK for PSN 7: the peer refused to invalidate the key of "
			 "this request");
}
END_TEST

/* A window of the peer's, of type 2, over a region at [0x1000, 0x1040); bound to a part of it. */
#define WINDOW 0x00070000u
static struct rxe_mw *add_window(void)
{
	struct rxe_mr *window = &shared->mrs.entry[rxe_key_index(WINDOW)];
	struct rxe_mw *mw = &peer_slot()->mws.mw[3];

	*window = (struct rxe_mr){
		.pd = 2, .kind = RXE_MR_WINDOW_2, .addr = 3, .owner = PEER_QPN >> RXE_SLOT_SHIFT
	};
	window->key = WINDOW;
	mw->iova = mw->at = 0x1008;
	mw->len = 16;
	mw->region = KEY;
	mw->rights = RXE_REMOTE_WRITE;
	mw->qpn = PEER_QPN;
	request.head.rkey = WINDOW | 5;
	request.head.remote_addr = 0x1008;
	request.head.len = 8;
	return mw;
}

START_TEST(windows)
{
	struct rxe_mw *mw = add_window();

	add_key(2, RXE_MW_BIND | RXE_LOCAL_WRITE);
	ck_assert_ptr_nonnull(strstr(send_failed(RXE_WC_REM_ACCESS_ERR),
				     ": the memory window is not bound under this key"));
	mw->state = WINDOW | 5;
	request.head.len = 17;
	ck_assert_ptr_nonnull(strstr(send_failed(RXE_WC_REM_ACCESS_ERR),
				     ": the memory window is bound to 16 bytes at 0x1008"));
	request.head.len = 8;
	mw->rights = RXE_REMOTE_READ;
	ck_assert_ptr_nonnull(strstr(send_failed(RXE_WC_REM_ACCESS_ERR),
				     ": the memory window was bound without that access right"));
	mw->qpn = 0x020099;
	ck_assert_ptr_nonnull(
		strstr(send_failed(RXE_WC_REM_ACCESS_ERR),
		       ": the memory window was bound by another queue pair, 0x020099"));
	mw->qpn = PEER_QPN;
	shared->mrs.entry[rxe_key_index(KEY)].key = 0;
	ck_assert_ptr_nonnull(strstr(send_failed(RXE_WC_REM_ACCESS_ERR),
				     ": the region below the memory window has ended"));
}
END_TEST

static void expect_bind(const char *why)
{
	ck_assert_ptr_nonnull(strstr(send_failed(RXE_WC_MW_BIND_ERR), why));
}

START_TEST(binds)
{
	struct rxe_bind bind = { .addr = 0x1000, .len = 65, .mw = WINDOW, .region = KEY };
	struct rxe_mr *window = &shared->mrs.entry[rxe_key_index(WINDOW)];

	add_window();
	request.head.opcode = RXE_WR_BIND_MW;
	bind.rights = RXE_REMOTE_WRITE;
	memcpy(request.head.tail, &bind, sizeof(bind));
	expect_bind("the memory window 0x00070000 cannot be bound to 65 bytes at 0x1000 of the "
		    "region 0x");
	expect_bind(": this process has no such window");
	window->owner = OWN_SLOT;
	expect_bind(": the region's key is not registered");
	add_key(2, RXE_REMOTE_READ);
	expect_bind(": the region was registered without IBV_ACCESS_MW_BIND");
	add_key(2, RXE_MW_BIND);
	expect_bind(": remote write and atomic access need a region with IBV_ACCESS_LOCAL_WRITE");
	add_key(2, RXE_MW_BIND | RXE_LOCAL_WRITE);
	expect_bind(": the range is not inside the region");
	shared->slot[OWN_SLOT].mws.mw[3].state = WINDOW | 5;
	expect_bind(": the window is bound already: invalidate it first (IBV_WR_LOCAL_INV)");
	request.head.opcode = RXE_WR_LOCAL_INV;
	request.head.imm_or_rkey = KEY;
	ck_assert_ptr_nonnull(strstr(send_failed(RXE_WC_MW_BIND_ERR),
				     " cannot be invalidated: it is a region's"));
}
END_TEST

START_TEST(datagram_too_long)
{
	request.head.len = 4097;
	ck_assert_ptr_nonnull(strstr(send_failed(RXE_WC_LOC_LEN_ERR),
				     "its 4097 bytes are more than the port's MTU"));
}
END_TEST

START_TEST(own_memory)
{
	const struct rxe_sge sge = { .addr = 0x1000, .length = 64, .lkey = KEY };

	memcpy(request.head.tail, &sge, sizeof(sge));
	request.head.num_sge = 1;
#define PROTECTION "local protection error of the RDMA write with wr_id 0x77: "
	ck_assert_str_eq(send_failed(RXE_WC_LOC_PROT_ERR), PROTECTION
			 "lkey 0x00010203 does not permit access to 64 bytes at 0x1000: the key is "
			 "not registered");
	add_key(5, 0);
	ck_assert_str_eq(send_failed(RXE_WC_LOC_PROT_ERR), PROTECTION
			 "lkey 0x00010203 does not permit access to 64 bytes at 0x1000: the region "
			 "belongs to another protection domain");
	add_key(2, 0);
	ck_assert_str_eq(send_failed(RXE_WC_LOC_PROT_ERR),
			 PROTECTION "the memory behind one of its keys is unmapped");
}
END_TEST

START_TEST(rules_that_answer)
{
	fire_rule("nak code=remote_access");
	ck_assert_str_eq(
		send_failed(RXE_WC_REM_ACCESS_ERR),
		"fault rule 3 sent the NAK for PSN 7 in place of the peer ('rxe_dm fault list')");
	fire_rule("nak code=psn_sequence");
	ck_assert_str_eq(
		send_failed(RXE_WC_RETRY_EXC_ERR),
		"sent PSN 7..9 8 times, and fault rule 3 answered with PSN sequence error NAKs "
		"('rxe_dm fault list')");
	qp.injected = true;
	ck_assert_str_eq(send_failed(RXE_WC_RETRY_EXC_ERR),
			 "a fault rule injected this error ('rxe_dm fault list')");
}
END_TEST

/* Whether the sentence names the rule, which fired in that process. */
static bool names(uint32_t slot, const char *text)
{
	fire_rule_in(slot, text);
	return strstr(send_failed(RXE_WC_REM_ACCESS_ERR), "fault rule 3 sent the NAK");
}

START_TEST(rules_of_other_queue_pairs)
{
	const uint32_t peer = PEER_QPN >> RXE_SLOT_SHIFT;

	qp.order = 2;
	ck_assert(names(OWN_SLOT, "nak code=remote_access qp=0x010001"));
	ck_assert(!names(OWN_SLOT, "nak code=remote_access qp=0x010002"));
	ck_assert(names(OWN_SLOT, "nak code=remote_access qp=#2"));
	ck_assert(!names(OWN_SLOT, "nak code=remote_access qp=#3"));
	ck_assert(names(OWN_SLOT, "nak code=remote_access peer_qp=0x020005"));
	ck_assert(!names(OWN_SLOT, "nak code=remote_access peer_qp=0x020006"));
	ck_assert(names(peer, "nak code=remote_access qp=0x020005"));
	ck_assert(!names(peer, "nak code=remote_access qp=0x020006"));
	ck_assert(!names(peer, "nak code=remote_access peer_qp=0x010002"));
	ck_assert(!names(peer + 1, "nak code=remote_access"));
	/* Another device's queue pair may have the number of a local process. */
	qp.flow.dst.raw[15] = 9;
	ck_assert(!names(peer, "nak code=remote_access"));
	ck_assert(names(OWN_SLOT, "nak code=remote_access"));
}
END_TEST

START_TEST(rules_that_disturb_other_queue_pairs)
{
#define LOST "did not run in time, or packets were lost ('rxe_dm show' counts lost packets)"
	fire_rule("drop qp=0x010002");
	expect_silent("peer (process 999999999) has the QP, but " LOST);
	shared->faults.at[0].fired = 1;
	peer_slot()->pid = 0;
	fire_rule("nak code=psn_sequence qp=0x030001");
	expect_silent("the program of QP 0x020005 has exited");
}
END_TEST

START_TEST(refused_requests)
{
	qp.rc.resp.rkey = KEY;
	qp.rc.resp.va = 0x2000;
	qp.rc.resp.len = 64;
	ck_assert_str_eq(
		refused(RC_FAULT_KEY),
		"refused the peer's request, PSN 9: rkey 0x00010203 does not permit access to 64 "
		"bytes at 0x2000: the key is not registered");
	qp.rc.resp.va = 0x1000;
	add_key(2, RXE_REMOTE_WRITE);
	ck_assert_ptr_nonnull(
		strstr(refused(RC_FAULT_KEY),
		       ": the region was registered without that access right, or its memory is "
		       "unmapped"));
	ck_assert_str_eq(
		refused(RC_FAULT_TOO_MANY),
		"refused the peer's request, PSN 9: more RDMA reads and atomics are outstanding "
		"than max_dest_rd_atomic (4)");
	ck_assert_str_eq(
		refused(RC_FAULT_LENGTH),
		"refused the peer's request, PSN 9: a packet's length contradicts its headers: "
		"check that both sides have the same path MTU (here 1024)");
}
END_TEST

START_TEST(receives_and_queues)
{
	struct rxe_cq cq = { .overrun = true };

	qp.claim.wr_id = WR_ID;
	qp.claim.len = 16;
	ck_assert_str_eq(why(RXE_FAILED_RECV, RXE_WC_LOC_LEN_ERR),
			 "the receive with wr_id 0x77 holds 16 bytes, and the message is longer");
	qp.send_cq = &cq;
	ck_assert_str_eq(
		why(RXE_FAILED_CQ, RXE_WC_SUCCESS),
		"its send completion queue overran: create a larger one, or poll it more often");
}
END_TEST

START_TEST(a_long_sentence_is_cut_off)
{
	const struct diagnosis d = { .gids = gids, .shared = shared, .slot = OWN_SLOT };
	char text[9];

	memset(text, 'x', sizeof(text));
	diagnose_failure(text, 8, &d, &qp, RXE_FAILED_SEND, RXE_WC_RETRY_EXC_ERR);
	ck_assert_str_eq(text, "sent PS");
	ck_assert_int_eq(text[8], 'x');
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("diagnose");
	TCase *tcase = tcase_create("sentences");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_local_peer_is_silent);
	tcase_add_test(tcase, a_stopped_peer_is_silent);
	tcase_add_test(tcase, a_foreign_peer_is_silent);
	tcase_add_test(tcase, a_foreign_peer_beyond_the_memory_link);
	tcase_add_test(tcase, naks_of_the_peer);
	tcase_add_test(tcase, an_invalid_request_has_the_cause_of_the_peer);
	tcase_add_test(tcase, keys_of_the_peer);
	tcase_add_test(tcase, windows);
	tcase_add_test(tcase, binds);
	tcase_add_test(tcase, datagram_too_long);
	tcase_add_test(tcase, own_memory);
	tcase_add_test(tcase, rules_that_answer);
	tcase_add_test(tcase, rules_of_other_queue_pairs);
	tcase_add_test(tcase, rules_that_disturb_other_queue_pairs);
	tcase_add_test(tcase, refused_requests);
	tcase_add_test(tcase, receives_and_queues);
	tcase_add_test(tcase, a_long_sentence_is_cut_off);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
