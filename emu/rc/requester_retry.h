/* SPDX-License-Identifier: MIT */
/* Sending again (IBTA 9.7.6): when, how often, and when to give up. Told what happened, it answers what to do; it knows nothing
 * of requests. Budgets are refilled by progress and by nothing else. */
#ifndef RXE_EMU_RC_REQUESTER_RETRY_H
#define RXE_EMU_RC_REQUESTER_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct rc_rtt;
struct rxe_qp_attr;

enum rc_retry_action {
	RC_RETRY_WAIT, /* nothing to do */
	RC_RETRY_REWIND, /* send again from the oldest that is not acknowledged, as soon as rc_retry_may_send() */
	RC_RETRY_GIVE_UP,
	RC_RETRY_PROBE, /* send the oldest packet again, alone, to hear what has arrived */
};

struct rc_retry {
	uint64_t deadline_ns; /* of the local ACK timer; UINT64_MAX while it does not run */
	/* Well before that, and again after twice the time: a lost ACK, or a lost NAK, then costs less than a timeout, and nothing of the
	 * budget. */
	uint64_t probe_ns;	 /* when; UINT64_MAX: not, or not again */
	uint64_t probe_after_ns; /* without progress for so long; 0: never */
	uint64_t probe_wait_ns;	 /* so long for the next */
	uint64_t probe_max_ns;	 /* probe_after_ns before round trips are known, and at most */
	uint64_t lossy_until_ns; /* packets got lost lately: probes come earlier */
	uint64_t
		rnr_until_ns; /* the peer has no receive and asked for peace until then; 0: it did not */
	uint64_t
		deferred_until_ns; /* memory of ours is late: it is tried again then; 0: it is not */
	uint32_t trigger_psn; /* of the answer that showed another to be missing, while rewound */
	bool rewound;	      /* an implied NAK was acted on, and no progress came since */
	uint8_t retries;      /* spent since the last progress */
	uint8_t rnr_retries;
};

/* 4.096 us * 2^code; UINT64_MAX for code 0, which means for ever (IBTA 9.7.6.1.3). */
uint64_t rc_timeout_ns(uint8_t code);
/* IBTA table 45: 10 us * {1, 2, 3, 4, 6, 8, 12, ...} for codes 1 to 31, and code 0 behind them. */
uint64_t rc_rnr_timer_ns(uint8_t code);

void rc_retry_reset(struct rc_retry *retry);
/* The requester goes back for something that was lost. */
void rc_retry_lost(struct rc_retry *retry, uint64_t now_ns);
/* How long to wait for an answer before it is asked for again: where packets got lost lately, as round trips are. */
void rc_retry_update_probe_timeout(struct rc_retry *retry, const struct rc_rtt *rtt,
				   uint64_t now_ns);
/* A request left: the timer runs from the first that has no answer. */
void rc_retry_sent(struct rc_retry *retry, const struct rxe_qp_attr *attr, uint64_t now_ns);
/* The oldest request got an answer. */
void rc_retry_progressed(struct rc_retry *retry, const struct rxe_qp_attr *attr, bool outstanding,
			 uint64_t now_ns);
/* Time passed: is the ACK timer over? */
enum rc_retry_action rc_retry_timed_out(struct rc_retry *retry, const struct rxe_qp_attr *attr,
					uint64_t now_ns);
enum rc_retry_action rc_retry_sequence_nak(struct rc_retry *retry, const struct rxe_qp_attr *attr);
/* An answer with this PSN came while an earlier read or atomic has none. is_ack: a plain ACK, which stands for all that came
 * before it and may be said again for each duplicate. */
enum rc_retry_action rc_retry_implied_nak(struct rc_retry *retry, const struct rxe_qp_attr *attr,
					  uint32_t psn, bool is_ack);
enum rc_retry_action rc_retry_rnr_nak(struct rc_retry *retry, const struct rxe_qp_attr *attr,
				      uint8_t timer_code, uint64_t now_ns);
/* What is to be sent cannot be read yet: the peer is not asked for anything meanwhile, so nothing is spent on it. */
void rc_retry_send_deferred(struct rc_retry *retry, const struct rxe_qp_attr *attr,
			    uint64_t now_ns);
/* An answer came that has nowhere to land yet: it is asked for again later, and what follows it in vain is no sign of a loss. */
void rc_retry_response_deferred(struct rc_retry *retry, uint32_t psn, uint64_t now_ns);
/* Is the peer's time of peace over, and nothing late, or was there none? */
bool rc_retry_may_send(struct rc_retry *retry, uint64_t now_ns);
/* When it wants to be asked again. */
uint64_t rc_retry_next_ns(const struct rc_retry *retry);

#endif
