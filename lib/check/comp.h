/* SPDX-License-Identifier: MIT */
/* RXE-COMP-001 to 005: fields of completions that are not valid (ibv_poll_cq(3)). */
#ifndef RXE_CHECK_COMP_H
#define RXE_CHECK_COMP_H

#include <stdint.h>

struct check_request;
struct ibv_context;
struct ibv_cq_ex;
struct ibv_sge;
struct ibv_wc;
struct rxe_cqe;

enum comp_field {
	COMP_OPCODE,
	COMP_BYTE_LEN,
	COMP_IMM_DATA,
	COMP_SRC_QP,
	COMP_FLAGS,
};

/* Fills the fields that are not valid with a pattern. */
void comp_poison(const struct ibv_context *context, struct ibv_wc *wc);
/* The program reads a field of the current completion. */
void comp_read(struct ibv_cq_ex *cq, const struct rxe_cqe *cqe, enum comp_field field,
	       const char *verb);
/* The program posts a length: is it the pattern? */
void comp_posting(const struct check_request *request);

#endif
