/* SPDX-License-Identifier: MIT */
/* The command format of mlx5 devices, as far as this library parses it: CREATE_MKEY over a umem. A
 * command is an array of big-endian 32-bit words. A field is named by its first bit, counted from
 * the first word's highest. */
#ifndef RXE_MLX5_PRM_H
#define RXE_MLX5_PRM_H

#include <stddef.h>
#include <stdint.h>

#include "lib/verbs/mlx5_calls.h"

#define PRM_CREATE_MKEY	     0x200u
#define PRM_CREATE_MKEY_IN   272 /* bytes */
#define PRM_CREATE_MKEY_OUT  16
#define PRM_OPCODE_BYTES     2
#define PRM_STATUS_BAD_PARAM 0x03

uint16_t prm_opcode(const void *in);
/* 0, EOPNOTSUPP (a kind of key that this device lacks), or EINVAL (too short). */
int prm_parse_create_mkey(struct vb_mkey_want *ret, const void *in, size_t len);
void prm_emit_create_mkey(void *out, size_t len, uint32_t key);
/* Writes a failure status, for programs that read the output. */
void prm_emit_status(void *out, size_t len, uint8_t status);

#endif
