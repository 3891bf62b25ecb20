/* SPDX-License-Identifier: MIT */
/* XRC SRQs of other processes: a request to an XRC target may name an SRQ of another process in the
 * same XRC domain. */
#ifndef RXE_PROGRESS_REMOTE_SRQ_H
#define RXE_PROGRESS_REMOTE_SRQ_H

#include <stdbool.h>
#include <stdint.h>

struct ctl_remote_request;
struct progress;
struct rxe_claim;
struct rxe_cqe;
struct rxe_srq;

/* Other processes can find the SRQ from now on, or no longer. Callers hold the engine lock. */
void remote_srq_publish(struct progress *progress, const struct rxe_srq *srq);
void remote_srq_unpublish(struct progress *progress, const struct rxe_srq *srq);

/* rxe_host_ops: emu/host.h. */
bool remote_srq_find(void *host, uint32_t srqn, uint32_t xrcd, uint32_t *ret_pd);
bool remote_srq_take(void *host, uint32_t srqn, uint32_t xrcd, struct rxe_claim *ret);
bool remote_srq_done(void *host, const struct rxe_claim *claim, const struct rxe_cqe *cqe);

/* Executes another process's request to our SRQ srqn in XRC domain xrcd. len: bytes in the mailbox.
 * Callers hold the engine lock. */
bool remote_srq_serve(struct progress *progress, struct ctl_remote_request *e, uint32_t op,
		      uint32_t srqn, uint64_t xrcd, uint32_t len);

#endif
