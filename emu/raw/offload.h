/* SPDX-License-Identifier: MIT */
/* Checksum offload of raw frames: the IPv4 header and TCP or UDP behind IPv4 or IPv6, of the outer
 * headers. Pure. */
#ifndef RXE_EMU_RAW_OFFLOAD_H
#define RXE_EMU_RAW_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/raw/frame.h"

/* Whether an IPv4 packet's header and its TCP or UDP checksum are right (IBV_WC_IP_CSUM_OK). False
 * for all other packets: nothing was checked. */
bool raw_checksums_are_good(const struct raw_frame *frame, const uint8_t *p);
/* Writes the checksums into the frame. Headers that it lacks are passed by. */
void raw_checksums_fill(const struct raw_frame *frame, uint8_t *p);

#endif
