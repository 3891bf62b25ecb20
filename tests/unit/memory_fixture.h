/* SPDX-License-Identifier: MIT */
/* A hub and two memory links on it, of slots A and B, for tests: making trains, receiving them. */
#ifndef RXE_TEST_MEMORY_FIXTURE_H
#define RXE_TEST_MEMORY_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link/memory/memory.h"
#include "net/wire/packet.h"

#define SLOTS 5u
#define A     1u
#define B     2u
#define C     3u

extern struct memory_hub hub;
extern struct link *a, *b;
/* What make_train() made, its bytes, and what expect_packets() received. */
extern struct wire_train train;
extern uint8_t buf[TRAIN_MAX_BYTES];
extern struct wire_arrival got[256];
extern const struct gid gid, group;

void setup(void);
void teardown(void);
/* A new process takes the slot. */
struct memory_cfg cfg_of(uint32_t slot);
struct link *open_with(const struct memory_cfg *cfg);
/* cfg_of() and open_with(). */
struct link *open_slot(uint32_t slot);
/* The server goes on with a slot whose process has exited. */
struct link *resume_slot(uint32_t slot);

/* A train of segs packets to a slot, each of len bytes but for the last. */
void make_train(uint32_t from, uint32_t to, uint32_t segs, uint32_t len, uint32_t last);
void send_ok(struct link *link);
void expect_packets(struct link *link, uint32_t n);
bool is_readable(struct link *link);

#endif
