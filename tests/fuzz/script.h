/* SPDX-License-Identifier: MIT */
/* The input of the responder and requester targets: a script of packets that arrive, receives and sends that are posted, time that
 * passes, and what a program does to its queue pairs meanwhile. seeds.py writes scripts of real packets. */
#ifndef TESTS_FUZZ_SCRIPT_H
#define TESTS_FUZZ_SCRIPT_H

#include "tests/fuzz/host.h"

#define SCRIPT_MAX_STEPS 400u

enum script_step {
	STEP_FORGED, /* a packet told by its parts, so that most of it makes sense */
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
	STEP_LATE,    /* memory cannot be had for a while */
	SCRIPT_STEPS,
};

/* Carry out the rest of the input on a host that was set up; sends: whether it may post any. */
void script_run(struct host *host, const struct host_setup *setup, struct take *take, bool sends);

#endif
