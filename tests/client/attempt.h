/* SPDX-License-Identifier: MIT */
/* One operation of 8 bytes between two connected ends, of which one side is memory that the test
 * names by key and address, and the other the end's own. */
#ifndef TESTS_CLIENT_ATTEMPT_H
#define TESTS_CLIENT_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "fixture.h"

struct operation {
	enum ibv_wr_opcode opcode;
	bool writes_local, receives;
};

#define OPERATIONS 6
extern const struct operation operations[OPERATIONS]; /* the first is a SEND */

/* Posted by a, to b. local: the named memory is on a's side. Returns a's completion. A receive of
 * b's has wr_id 2. */
enum ibv_wc_status attempt_status(struct end *a, struct end *b, const struct operation *op,
				  uint32_t key, uint64_t addr, bool local);
/* The same, RC: the status must be this one, and the receive's is what goes with it. */
void attempt_expect(struct end *a, struct end *b, const struct operation *op, uint32_t key,
		    uint64_t addr, bool local, enum ibv_wc_status status);
/* What RC reports where the named memory cannot be accessed. */
enum ibv_wc_status attempt_refusal(const struct operation *op, bool local);
/* Is the named memory written to? */
bool attempt_writes(const struct operation *op, bool local);

#endif
