/* SPDX-License-Identifier: MIT */
/* What fault rules have to do with the failure of a queue pair: whoever asked for trouble is told that this is it. */
#ifndef RXE_DIAGNOSE_RULES_H
#define RXE_DIAGNOSE_RULES_H

#include <stdbool.h>
#include <stdint.h>

struct progress;
struct rxe_qp;

/* The number of a rule that has fired here or at the peer, and answers with such a NAK (AETH syndrome; of RNR NAKs any timer); 0: none. */
uint32_t vb_rule_that_answers(const struct progress *progress, const struct rxe_qp *qp,
			      uint8_t syndrome);
/* Has a rule fired here, or at the peer, that packets are lost or late by? */
bool vb_rules_take_packets(const struct progress *progress, const struct rxe_qp *qp);
/* Why nothing can leave or arrive at all, by a rule or for want of an interface; NULL: it can. */
const char *vb_silence(const struct progress *progress);

#endif
