/* SPDX-License-Identifier: MIT */
/* Event counters, named as in Linux's rdma_rxe, followed by our own. Each process has one block in
 * shared memory. Only its engine writes it, except send_err, which its link writes. rxe_dm(1)
 * describes each counter. */
#ifndef RXE_EMU_COUNTERS_H
#define RXE_EMU_COUNTERS_H

#include <stdint.h>

#define RXE_COUNTERS(X)                                                                            \
	X(sent_pkts)                                                                               \
	X(rcvd_pkts)                                                                               \
	X(duplicate_request)                                                                       \
	X(out_of_seq_request)                                                                      \
	X(rcvd_rnr_err)                                                                            \
	X(send_rnr_err)                                                                            \
	X(rcvd_seq_err)                                                                            \
	X(ack_deferred)                                                                            \
	X(retry_exceeded_err)                                                                      \
	X(retry_rnr_exceeded_err)                                                                  \
	X(completer_retry_err)                                                                     \
	X(send_err)                                                                                \
	X(rdma_sends)                                                                              \
	X(rdma_recvs)                                                                              \
	X(sent_bytes)                                                                              \
	X(rcvd_bytes)                                                                              \
	X(rcvd_bad_icrc)                                                                           \
	X(rcvd_malformed)                                                                          \
	X(rcvd_no_qp)                                                                              \
	X(rcvd_bad_key)                                                                            \
	X(rcvd_dropped)

struct rxe_counters {
#define X(name) uint64_t name;
	RXE_COUNTERS(X)
#undef X
};

#endif
