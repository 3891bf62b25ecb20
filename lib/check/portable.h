/* SPDX-License-Identifier: MIT */
/* RXE-PORT-001 to 004: what works on this device and fails on adapters. */
#ifndef RXE_CHECK_PORTABLE_H
#define RXE_CHECK_PORTABLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/abi/newer.h"

struct check_object;
struct check_qp;
struct check_request;

/* A request is about to be posted. */
void portable_sending(const struct check_qp *qp, const struct ibv_send_wr *wr);
/* A queue pair was created; the limits are those that it was asked for. */
void portable_qp_made(const struct check_object *qp, const struct ibv_qp_cap *asked);
/* A request is about to be posted; the memory of its peer is known. */
void portable_posting(const struct check_request *request);
/* Device memory was allocated with this log_align_req. */
void portable_dm_made(struct check_object *dm, uint32_t log_align);
/* Bytes are about to be copied to or from device memory, by this verb. */
void portable_dm_copying(const struct ibv_dm *dm, uint64_t offset, size_t len, const char *verb);

#endif
