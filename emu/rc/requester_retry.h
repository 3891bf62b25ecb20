/* SPDX-License-Identifier: MIT */
/* Retransmission (IBTA 9.7.6): when to resend, how often, when to give up. Events come in, actions
 * go out; this module sees no requests. Only progress refills the budgets. Round trips are measured
 * for the time before a probe. */
#ifndef RXE_EMU_RC_REQUESTER_RETRY_H
#define RXE_EMU_RC_REQUESTER_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/deadline.h"

struct rc_rtt;
struct rxe_qp_attr;

enum rc_retry_action {
	RC_RETRY_WAIT, /* nothing to do */
	/* Resend from the oldest packet that is not acknowledged, once rc_retry_may_send() allows
	 * it. */
	RC_RETRY_REWIND,
	RC_RETRY_GIVE_UP,
	/* Send the oldest packet again, alone, to learn what has arrived. */
	RC_RETRY_PROBE,
};

/* What was sent and is not acknowledged. */
enum rc_outstanding {
	RC_OUTSTANDING_NONE,
	RC_OUTSTANDING_UNASKED, /* no packet of it has AckReq: no response is on its way */
	RC_OUTSTANDING_ASKED,
};

struct rc_retry {
	/* Expiry of the local ACK timer; RXE_NEVER while it is stopped. */
	uint64_t deadline_ns;
	/* A probe is sent well before the ACK timer expires, and again after twice the time. A
	 * lost ACK or NAK then costs less than a timeout, and no retry. */
	/* Time of the next probe; RXE_NEVER: none. */
	uint64_t probe_ns;
	uint64_t probe_after_ns; /* time without progress before a probe; 0: never */
	uint64_t probe_wait_ns;	 /* interval to the next probe */
	/* Upper bound of probe_after_ns, and its value before a round trip was measured. */
	uint64_t probe_max_ns;
	/* Packets were lost recently: probes are sent earlier until this time. */
	uint64_t lossy_until_ns;
	/* RNR back-off ends at this time; RXE_NEVER: none. */
	uint64_t rnr_until_ns;
	/* The peer was not ready, and no progress came since: packets go one by one, each with
	 * AckReq. The peer drops those that follow a request that it is not ready for. */
	bool one_by_one;
	/* Local memory is not ready: it is tried again at this time; RXE_NEVER: it is ready. */
	uint64_t deferred_until_ns;
	/* While rewound: PSN of the response that showed an earlier one to be missing. */
	uint32_t trigger_psn;
	/* An implied NAK caused a rewind, and no progress came since. */
	bool rewound;
	uint8_t retries; /* spent since the last progress */
	uint8_t rnr_retries;
	/* Copies of the oldest packet that were sent, and of which no RNR NAK has come. */
	uint32_t copies;
	/* Those of them that were sent before the last RNR NAK that spent a retry. */
	uint32_t old_copies;
	/* The peer's process that was found stopped (rxe_host_ops.peer_life); 0: none. */
	uint32_t stopped_process;
	enum rc_outstanding outstanding;
	/* The ACK timer was started again for a process that had been stopped, and no retry was
	 * spent since. */
	bool excused;
};

/* 4.096 us * 2^code; RXE_NEVER for code 0: no timeout (IBTA 9.7.6.1.3). */
uint64_t rc_timeout_ns(uint8_t code);
/* IBTA table 45: 10 us * {1, 2, 3, 4, 6, 8, 12, ...} for codes 1 to 31; code 0 is the longest. */
uint64_t rc_rnr_timer_ns(uint8_t code);

void rc_retry_reset(struct rc_retry *retry);
/* The budget is spent, and another path is tried with a new one. */
void rc_retry_restart(struct rc_retry *retry);
/* A packet was lost: the requester rewinds. */
void rc_retry_lost(struct rc_retry *retry, uint64_t now_ns);
/* Updates the time before a probe: near the round-trip time while packets are being lost,
 * otherwise the maximum. */
void rc_retry_update_probe_timeout(struct rc_retry *retry, const struct rc_rtt *rtt,
				   uint64_t now_ns);
/* A packet was sent, with or without AckReq. The timer runs from the first that is not
 * acknowledged. */
void rc_retry_sent(struct rc_retry *retry, const struct rxe_qp_attr *attr, enum rc_outstanding sent,
		   uint64_t now_ns);
/* The oldest packet was sent, for the first time or again. */
void rc_retry_oldest_sent(struct rc_retry *retry);
/* The oldest request was acknowledged. */
void rc_retry_progressed(struct rc_retry *retry, const struct rxe_qp_attr *attr,
			 enum rc_outstanding outstanding, uint64_t now_ns);
/* Whether requests without AckReq are probed well before the ACK timer expires. */
bool rc_retry_probes_unasked(const struct rc_retry *retry, const struct rxe_qp_attr *attr);
/* The deadline has passed: decides whether the ACK timer expired or a probe is due. */
enum rc_retry_action rc_retry_timed_out(struct rc_retry *retry, const struct rxe_qp_attr *attr,
					uint64_t now_ns);
/* The peer's process is stopped: no retry is spent, nothing is sent, and the ACK timer expires
 * again after RXE_STOPPED_NS. */
void rc_retry_stand_still(struct rc_retry *retry, uint64_t now_ns);
/* The ACK timer has expired while the peer's process runs. True: the timer starts again, because
 * the peer has had no full period of it to answer: it was found stopped before, or this process was
 * stopped (the timer expired a whole period ago). Once for each retry. */
bool rc_retry_excuse(struct rc_retry *retry, const struct rxe_qp_attr *attr, uint64_t now_ns);
/* The ACK timer has expired, and the peer's process has had no processor since it began: what is
 * outstanding is resent, and no retry is spent. */
enum rc_retry_action rc_retry_starved(struct rc_retry *retry);
/* When the ACK timer that has expired began. */
uint64_t rc_retry_since_ns(const struct rc_retry *retry, const struct rxe_qp_attr *attr);
/* The peer's process exited while the timer stood still: at most one retry is left, for what
 * TIME_WAIT still answers. */
void rc_retry_peer_exited(struct rc_retry *retry, const struct rxe_qp_attr *attr);
enum rc_retry_action rc_retry_sequence_nak(struct rc_retry *retry, const struct rxe_qp_attr *attr);
/* A response with this PSN came while an earlier READ or atomic has none. is_ack: a plain ACK,
 * which acknowledges all before it and may be repeated for each duplicate. */
enum rc_retry_action rc_retry_implied_nak(struct rc_retry *retry, const struct rxe_qp_attr *attr,
					  uint32_t psn, bool is_ack);
/* An RNR NAK of the oldest packet. The standard (9.7.5.2.8) and rdma_rxe count each RNR NAK, but
 * expect one for each back-off. Here probes may have sent the packet several times before the
 * first NAK comes, and rdma_rxe answers each copy. So one NAK spends a retry, and those of the
 * copies before it only wait. Progress ends the back-off: the peer has become ready. */
enum rc_retry_action rc_retry_rnr_nak(struct rc_retry *retry, const struct rxe_qp_attr *attr,
				      uint8_t timer_code, uint64_t now_ns);
/* The payload to send is not ready until then. The ACK timer restarts when it is tried again, so no
 * retry is spent. */
void rc_retry_send_deferred(struct rc_retry *retry, const struct rxe_qp_attr *attr,
			    uint64_t until_ns);
/* A response came while the memory for it is not ready. It is requested again then; responses that
 * follow it do not count as losses. */
void rc_retry_response_deferred(struct rc_retry *retry, uint32_t psn, uint64_t until_ns);
/* Whether neither RNR back-off nor a deferred access holds sending back. */
bool rc_retry_may_send(struct rc_retry *retry, uint64_t now_ns);
/* Whether the ACK timer has expired. */
static inline bool rc_retry_is_expired(const struct rc_retry *retry, uint64_t now_ns)
{
	return now_ns >= retry->deadline_ns;
}
/* Whether only one packet may be in flight: the peer may still not be ready for it. */
static inline bool rc_retry_is_one_by_one(const struct rc_retry *retry)
{
	return retry->one_by_one;
}
/* The time of the next event of this module; RXE_NEVER: none. */
uint64_t rc_retry_next_ns(const struct rc_retry *retry);

/* Round-trip time, measured as in RFC 6298: one packet at a time, never one that was resent. */

struct rc_rtt {
	uint64_t smooth_ns, spread_ns; /* 0: not measured yet */
	uint64_t sent_ns;
	uint32_t psn; /* packet whose acknowledgement ends the measurement */
	bool is_timing;
};

/* A packet with AckReq was sent. */
void rc_rtt_sent(struct rc_rtt *rtt, uint32_t psn, uint64_t now_ns);
/* Everything before una is acknowledged. */
void rc_rtt_acknowledged(struct rc_rtt *rtt, uint32_t una_psn, uint64_t now_ns);
/* A packet was resent: its acknowledgement can no longer be matched to one transmission (Karn). */
void rc_rtt_forget(struct rc_rtt *rtt);
/* Time after which a response counts as late: smoothed RTT plus two deviations, within [min_ns,
 * max_ns]; max_ns before the first measurement. */
uint64_t rc_rtt_timeout_ns(const struct rc_rtt *rtt, uint64_t min_ns, uint64_t max_ns);

#endif
