/* SPDX-License-Identifier: MIT */
/* The regions of the host under attack: private to host.c. */
#ifndef TESTS_FUZZ_HOST_MEMORY_H
#define TESTS_FUZZ_HOST_MEMORY_H

#include "tests/fuzz/host.h"

extern const struct rxe_host_ops memory_ops;

void memory_new(struct host *host);
/* Binds REGION_WINDOW to a part of REGION_BELOW. */
void memory_open_window(struct host *host, struct rxe_qp *qp);
/* Binds REGION_WINDOW to len bytes of its place in REGION_BELOW, at most as many as it has. */
void memory_bind(struct rxe_bind *ret, uint32_t len);
void memory_free(struct host *host);

#endif
