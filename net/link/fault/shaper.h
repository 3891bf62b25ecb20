/* SPDX-License-Identifier: MIT */
/* The shaper: between an engine and its link, carries out what fault rules decide.
 *
 * Sans-IO: trains and arrivals in, trains and arrivals out, time is the caller's. Packets that wait are copied; everything
 * else stays in the caller's buffers. Under the engine's lock, per engine call:
 *
 *   each train of rxe_engine_output()  -> fault_shaper_out() -> udp_send()
 *   each arrival of udp_receive()    -> fault_shaper_in()  -> rxe_engine_input()
 *   when fault_shaper_deadline() is up -> fault_shaper_due_out(), fault_shaper_due_in()
 */
#ifndef RXE_LINK_FAULT_SHAPER_H
#define RXE_LINK_FAULT_SHAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/fault/fault.h"
#include "net/wire/train.h"

#define FAULT_HELD	 256 /* packets that may wait at once; one more goes on at once, and is counted */
#define FAULT_PACKET_MAX 4224 /* longer ones never wait and are never spoiled */
#define FAULT_TX_PORTS	 16

/* What a shaper asks about a QP. */
struct fault_qp {
	uint32_t qpn;
	uint32_t index; /* order of creation, or FAULT_NO_INDEX */
	uint32_t peer_qpn;
	/* The one PSN for which a NAK would tell the truth about all before it: what the responder expects next (packets
	 * in), what the requester's oldest request without an answer is (packets out). */
	bool can_answer;
	uint32_t answer_psn;
	uint32_t msn;			     /* for the NAK's AETH */
	uint32_t first_sq_psn, first_rq_psn; /* where our requests began, and the peer's */
};

struct fault_firing {
	uint32_t id; /* of the rule */
	const struct fault_rule *rule;
	struct fault_packet packet;
	uint32_t attempt;
	/* What the packet is now, and what it rode in: the train of one that leaves, the arrival of one that comes. */
	const uint8_t *p;
	uint32_t len;
	const struct wire_train *train;
	const struct wire_arrival *arrival;
};

struct fault_shaper_cfg {
	uint16_t tx_ports[FAULT_TX_PORTS]; /* as the link's: the ICRC covers them */
	/* Which QP is meant: ours by dest_qpn for packets in, the peer's for packets out. False: unknown. May be NULL. */
	bool (*find_qp)(void *arg, enum fault_dir dir, const struct gid *peer, uint32_t dest_qpn,
			struct fault_qp *ret);
	/* A fault was carried out: for the log and the capture. May be NULL. */
	void (*fired)(void *arg, const struct fault_firing *firing);
	void *arg;
};

struct fault_shaper;

/* NULL: no memory. */
struct fault_shaper *fault_shaper_new(const struct fault_shaper_cfg *cfg);
void fault_shaper_free(struct fault_shaper *shaper);
/* Its rules, to be changed between calls. */
struct fault_rules *fault_shaper_rules(struct fault_shaper *shaper);
/* Nothing to do and nothing waiting: trains and arrivals may go past it. */
bool fault_shaper_idle(const struct fault_shaper *shaper);

/* What is to be sent instead of the train, now and in this order; how many trains. They and their bytes are valid until the
 * next fault_shaper_out or fault_shaper_due_out. The train's bytes may have been changed. */
size_t fault_shaper_out(struct fault_shaper *shaper, const struct wire_train *train,
			uint64_t now_ns, const struct wire_train **ret);
/* The same for an arrival: valid until the next fault_shaper_in or fault_shaper_due_in. */
size_t fault_shaper_in(struct fault_shaper *shaper, const struct wire_arrival *arrival,
		       uint64_t now_ns, const struct wire_arrival **ret);

/* When something that waits is due; UINT64_MAX for never. May be now: answers are due at once. */
uint64_t fault_shaper_deadline(const struct fault_shaper *shaper);
size_t fault_shaper_due_out(struct fault_shaper *shaper, uint64_t now_ns,
			    const struct wire_train **ret);
size_t fault_shaper_due_in(struct fault_shaper *shaper, uint64_t now_ns,
			   const struct wire_arrival **ret);

/* Packets that should have waited but found no room, and requests that a rule wanted answered but no NAK could truthfully be. */
uint64_t fault_shaper_overflows(const struct fault_shaper *shaper);
uint64_t fault_shaper_unanswered(const struct fault_shaper *shaper);

#endif
