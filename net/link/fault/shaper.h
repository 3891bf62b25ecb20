/* SPDX-License-Identifier: MIT */
/* The shaper: does the actions of fault rules. Sans-I/O: trains, arrivals and time in, trains and
 * arrivals out. Packets that wait are copied; all others stay in the caller's buffers. Its user is
 * the fault link (link.h):
 *
 *   each train that leaves               fault_shaper_out()
 *   each packet that arrives             fault_shaper_in()
 *   when fault_shaper_deadline() passes  fault_shaper_due_out(), fault_shaper_due_in() */
#ifndef RXE_LINK_FAULT_SHAPER_H
#define RXE_LINK_FAULT_SHAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/fault/fault.h"
#include "net/link/link.h"

#define FAULT_HELD	 256  /* most packets that wait; more pass at once and are counted */
#define FAULT_PACKET_MAX 4224 /* longer packets never wait and are never corrupted */

/* State of a QP that the shaper needs. */
struct fault_qp {
	uint32_t qpn;
	uint32_t index; /* order of creation, or FAULT_NO_INDEX */
	uint32_t peer_qpn;
	/* The only PSN for which a NAK is correct. Packets in: the PSN that the responder expects.
	 * Packets out: that of the requester's oldest unacknowledged request. */
	bool can_answer;
	uint32_t answer_psn;
	uint32_t msn; /* for the NAK's AETH */
	uint32_t first_sq_psn,
		first_rq_psn; /* first PSNs of the device's requests and the peer's */
};

/* An action that was done. */
struct fault_firing {
	uint32_t id; /* of the rule */
	const struct fault_rule *rule;
	struct fault_packet packet;
	uint32_t attempt;
	/* The packet after the action, and the train or arrival that it is part of. */
	const uint8_t *p;
	uint32_t len;
	const struct wire_train *train;
	const struct wire_arrival *arrival;
};

struct fault_shaper_cfg {
	uint16_t tx_ports[LINK_TX_PORTS]; /* the link's; the ICRC covers them */
	/* Finds the device's QP of a packet. dest_qpn is its QPN for packets in, the peer's for
	 * packets out. False: unknown. May be NULL. */
	bool (*find_qp)(void *arg, enum fault_dir dir, const struct gid *peer, uint32_t dest_qpn,
			struct fault_qp *ret);
	/* Reports an action, for the log and the capture. May be NULL. */
	void (*fired)(void *arg, const struct fault_firing *firing);
	void *arg;
};

/* Counts since the shaper was made. */
struct fault_stats {
	uint64_t overflows;    /* packets that found a queue full: passed on at once, or lost */
	uint64_t unanswered;   /* requests for which no correct NAK was possible */
	uint64_t silent_drops; /* packets dropped while fault_link_cfg.is_silent */
};

struct fault_shaper;

/* NULL: no memory. */
struct fault_shaper *fault_shaper_new(const struct fault_shaper_cfg *cfg);
void fault_shaper_free(struct fault_shaper *shaper);
/* The rules. The caller may change them between calls. */
struct fault_rules *fault_shaper_rules(struct fault_shaper *shaper);
/* The counts, which the caller may add to. */
struct fault_stats *fault_shaper_stats(struct fault_shaper *shaper);
/* Whether the packets of a direction may bypass the shaper: no rule is for this direction, no
 * packet waits, and no queue pair was answered with a NAK. */
bool fault_shaper_passes(const struct fault_shaper *shaper, enum fault_dir dir);

/* Returns the number of trains to send instead of this train, in order. They and their bytes are
 * valid until the next fault_shaper_out or fault_shaper_due_out. May change the train's bytes. */
size_t fault_shaper_out(struct fault_shaper *shaper, const struct wire_train *train,
			uint64_t now_ns, const struct wire_train **ret);
/* The same for an arrival; valid until the next fault_shaper_in or fault_shaper_due_in. */
size_t fault_shaper_in(struct fault_shaper *shaper, const struct wire_arrival *arrival,
		       uint64_t now_ns, const struct wire_arrival **ret);

/* Time at which the first waiting packet is due, which may have passed; UINT64_MAX: none waits. */
uint64_t fault_shaper_deadline(const struct fault_shaper *shaper);
/* Return the waiting packets that are due, as fault_shaper_out and fault_shaper_in do. */
size_t fault_shaper_due_out(struct fault_shaper *shaper, uint64_t now_ns,
			    const struct wire_train **ret);
size_t fault_shaper_due_in(struct fault_shaper *shaper, uint64_t now_ns,
			   const struct wire_arrival **ret);

#endif
