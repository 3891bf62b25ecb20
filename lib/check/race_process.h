/* SPDX-License-Identifier: MIT */
/* RXE-RACE-001 and 003 between processes of the device: the request that is posted now against
 * outstanding ones of other processes (access.h); and RXE-RACE-004, against those that are done and
 * are not ordered by the clocks of vector.h.
 *
 * The other one is ordered before this one if its process has polled its completion, or that
 * of a later one; if its peer has polled a message that was sent after it, or that it is
 * itself. A program that polls memory cannot be seen, so three usual ways also count as an
 * order, although the standard does not grant them: an RDMA WRITE, or an atomic, before
 * another one of its queue pair, which may be the flag that says so; an RDMA WRITE as a flag
 * for its peer, so that the memory that it sends is not compared; and an RDMA WRITE of up to 8
 * bytes, which may be such a flag, against requests of the process that has the bytes. Where
 * the peer of a queue pair is not checked, all its requests count as ordered. Under the
 * layer's lock. */
#ifndef RXE_CHECK_RACE_PROCESS_H
#define RXE_CHECK_RACE_PROCESS_H

#include <stdint.h>

struct check_range;
struct check_request;

/* The range is published (access_add()). */
void race_process_look(const struct check_request *request, const struct check_range *range);

/* A receive is about to be posted. */
void race_process_receiving(struct check_request *request);
/* len bytes have arrived in it, by queue pair qpn: an access of another connection that was
 * outstanding when the receive was posted, and still is, has no order with them. */
void race_process_received(const struct check_request *request, uint32_t qpn, uint32_t len);

#endif
