/* SPDX-License-Identifier: MIT */
/* The golden packets of tests/wire for tests: every RoCEv2 packet of every capture file there. */
#ifndef RXE_TEST_WIRE_VECTORS_H
#define RXE_TEST_WIRE_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "net/wire/icrc.h"

struct vector {
	const char *file;
	uint32_t number; /* number of the packet in its file, from 1 as in tshark */
	struct icrc_flow flow;
	uint16_t ip_id;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t flow_label;
	uint8_t *frame; /* the whole frame, in an allocation of exactly its length */
	size_t frame_len;
	const uint8_t *p; /* inside the frame: BTH to ICRC */
	size_t len;
};

/* Loads all packets and returns their number. Ends the program with a message when a file cannot be
 * read. */
size_t vectors_load(const struct vector **ret);

/* Returns a copy of len bytes that ends where the allocation ends, so that a sanitizer detects a
 * read past it. The caller frees it. */
uint8_t *exact_copy(const uint8_t *p, size_t len);

#endif
