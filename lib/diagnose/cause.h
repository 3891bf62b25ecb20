/* SPDX-License-Identifier: MIT */
/* The files of lib/diagnose, for each other only. diagnose.c calls request.c, both call key.c and
 * peer.c, all call sentence.c. */
#ifndef RXE_DIAGNOSE_CAUSE_H
#define RXE_DIAGNOSE_CAUSE_H

#include <stdbool.h>

#include "lib/diagnose/diagnose.h"

struct rxe_send_wqe;

/* sentence.c: text that grows and is cut off at size. */
struct sentence {
	char *text;
	size_t size, len;
};

void say(struct sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* request.c: this end's request failed with status. */
void say_request(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp,
		 enum rxe_wc_status status);

/* peer.c: whether the peer's queue pair belongs to this device; why it does not answer; the
 * cause that the peer's process recorded for its own end, or NULL. */
bool peer_is_local(const struct diagnosis *d, const struct rxe_qp *qp);
void say_peer_silent(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp);
const char *peer_cause(const struct diagnosis *d, const struct rxe_qp *qp);

/* The number of a fault rule for this queue pair or the peer's that has sent NAKs with this AETH
 * syndrome (AETH_RNR_NAK: RNR NAKs of any timer); 0: none. */
uint32_t rule_sending_nak(const struct diagnosis *d, const struct rxe_qp *qp, uint8_t syndrome);

/* key.c: an access by a key of this device. */
#define KEY_ANY_PD UINT32_MAX
struct key_use {
	uint32_t key;
	uint32_t pd; /* the required domain, or KEY_ANY_PD */
	uint32_t rights;
	uint32_t qpn; /* queue pair that the peer's request arrives at; 0: the key is an lkey */
	uint64_t addr, len;
};
/* Why the key refuses the access. */
void say_key_refusal(struct sentence *s, const struct diagnosis *d, const struct key_use *use);
/* Whether the key's region or window permits the access. Its memory may be unmapped
 * nevertheless. */
bool key_permits(const struct diagnosis *d, const struct key_use *use);
/* A bind, or an invalidation, failed. */
void say_bind(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp,
	      const struct rxe_send_wqe *wqe);
void say_invalidation(struct sentence *s, const struct diagnosis *d,
		      const struct rxe_send_wqe *wqe);

#endif
