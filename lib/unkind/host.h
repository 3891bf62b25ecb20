/* SPDX-License-Identifier: MIT */
/* Unkind memory and completions: a layer between the engine and its host (emu/host_layer.h).
 *
 *   late_reads        bytes to send are not ready at first: the first ones are read RXE_DEFER_NS
 *                     later, those after them UNKIND_DEFER_NS later
 *   byte_order        of bytes to store the last one is stored first, the rest after a pause
 *   fill              the rest holds a pattern meanwhile
 *   late_completions  completions of a CQ become visible up to UNKIND_LATE_NS later
 *   completion_order  completions of different queues of a CQ change places meanwhile
 *   few_completions   they become visible some at a time
 *   late_events       an armed CQ notifies later, by the engine's moderation
 *
 * What stays: an aligned word of up to 8 bytes is stored whole, and memory of other processes is
 * written once. A read is put off once, then made. Completions of one queue keep their order, and
 * an asynchronous event comes after the completions of its queue pair. */
#ifndef RXE_UNKIND_HOST_H
#define RXE_UNKIND_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/host_layer.h"
#include "lib/unkind/plan.h"

struct rxe_engine;
struct rxe_ring;

/* The longest time that a completion is late; a pause between bytes, and the first one. */
#define UNKIND_LATE_NS	      100000u
#define UNKIND_PAUSE_NS	      50000u
#define UNKIND_FIRST_PAUSE_NS 1000000u
/* How long a read is put off, after the first ones of a region. */
#define UNKIND_DEFER_NS 100000u

/* about_to_store: at the first ones of a region, in any case. */
#define UNKIND_LOOKS 64u

#define UNKIND_COUNTS 1024u

/* What memory holds before its bytes are there. */
#define UNKIND_FILL_BYTE 0xdbu
/* Of the pieces of a posted receive, this many bytes are filled. */
#define UNKIND_FILL_MAX 65536u

struct unkind_cfg {
	struct unkind_plan plan;
	struct rxe_engine *engine;
	uint32_t slot; /* the process: its own memory is written in any order */
	const struct rxe_host_ops *below;
	void *below_host;
	/* Lets time pass while other threads run. NULL: nothing reads memory meanwhile. */
	void (*pause)(void *below_host, uint64_t ns);
	/* Bytes that end at this one are about to be stored: called for the first ones of a region,
	 * and where they are followed by a pause. NULL: no call. */
	void (*about_to_store)(void *below_host, const struct rxe_mr *mr, uint64_t iova,
			       size_t len);
};

/* How often something has happened, and whether the last read was put off. Different things may
 * share a place. */
struct unkind_count {
	uint32_t n;
	bool was_put_off;
};

struct unkind_host {
	struct rxe_host_layer layer; /* first: the engine's host is one of these */
	struct unkind_cfg cfg;
	uint32_t put_off_ns; /* the last access was, by this layer; 0: it was not */
	struct unkind_count reads[UNKIND_COUNTS];
	struct unkind_count writes[UNKIND_COUNTS];
	uint32_t completions[UNKIND_COUNTS];
	uint32_t dues; /* times that completions were due */
};

/* The engine's ops and host are then &ret->layer.ops and ret. Sets no completions_asked: the caller
 * does, after rxe_engine_init(). */
void unkind_host_init(struct unkind_host *ret, const struct unkind_cfg *cfg);
/* Fills the memory of receives that wait in a ring, from number `from` on, with a pattern. pd: the
 * ring's protection domain. Their contents are not defined from the post to the completion. */
void unkind_fill_receives(const struct unkind_host *unkind, uint32_t pd,
			  const struct rxe_ring *ring, uint32_t from);

#endif
