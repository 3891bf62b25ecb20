/* SPDX-License-Identifier: MIT */
/* What a request does to memory of its peer, where the peer is of this device; and, where the peer
 * is of this process, whether it can know that the request has been executed: a message that
 * arrives proves that the requests in front of it have been (IBTA 9.7.1, reliable connections). For
 * peers of other processes see access.h. Under the layer's lock. */
#ifndef RXE_CHECK_REMOTE_H
#define RXE_CHECK_REMOTE_H

#include <stdint.h>

struct check_qp;
struct check_request;
struct ibv_send_wr;

/* Sets the peer's memory in a request that is built call by call; opcode is set. */
void remote_set(struct ibv_send_wr *wr, uint32_t rkey, uint64_t addr);
/* A send request is about to be posted: looks up the memory of the peer. */
void remote_posting(struct check_qp *qp, struct check_request *request,
		    const struct ibv_send_wr *wr);
void remote_ended(struct check_request *request);
/* The newest request of its queue was not posted after all; it is about to end. */
void remote_refused(const struct check_request *request);
/* The program has polled a message. qp may be NULL. */
void remote_received(struct check_qp *qp);
void remote_reset(struct check_qp *qp);
/* The connected queue pair, if it is of this process; NULL: it is not. */
struct check_qp *remote_peer(const struct check_qp *qp);

#endif
