/* SPDX-License-Identifier: MIT */
/* The input of the responder and requester targets: a script of arriving packets, posted receives
 * and sends, time, and what a program does to its queue pairs. seeds.py makes scripts of real
 * packets. */
#ifndef TESTS_FUZZ_SCRIPT_H
#define TESTS_FUZZ_SCRIPT_H

#include "tests/fuzz/host.h"

#define SCRIPT_MAX_STEPS 400u

enum script_step {
	STEP_FORGED, /* a packet by its fields, so that most of it is valid */
	STEP_BYTES,  /* a packet as bytes */
	STEP_RECV,
	STEP_SEND,
	STEP_TIME,
	STEP_OUTPUT,
	STEP_MODIFY,
	STEP_REVOKE,
	STEP_ARM,
	STEP_DESTROY, /* a queue pair is destroyed, or a long time passes */
	STEP_SPOIL,   /* TIME_WAIT records are overwritten */
	STEP_DEFER,   /* accesses to memory are deferred, or not any more */
	SCRIPT_STEPS,
};

/* Runs the rest of the input on a host. sends: whether the script may post sends. */
void script_run(struct host *host, const struct host_setup *setup, struct take *take, bool sends);

#endif
