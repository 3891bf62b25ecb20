/* SPDX-License-Identifier: MIT */
/* What a captured packet's comment says. */
#ifndef RXE_DM_COMMAND_CAPTURE_COMMENT_H
#define RXE_DM_COMMAND_CAPTURE_COMMENT_H

#include <stdint.h>

#include "net/link/capture/ring.h"

#define CAPTURE_LINE_MAX 640

/* "ib_write_bw[1234] QP 0x010002 RC, RDMA_WRITE wr_id 0x7": the program, the queue pair, the work
 * request, and what a fault did. */
void capture_comment(char ret[static CAPTURE_LINE_MAX], const struct capture_record *record,
		     uint64_t missing);
/* "RDMA_WRITE" for a work request's opcode. */
const char *capture_request_str(uint32_t opcode);

#endif
