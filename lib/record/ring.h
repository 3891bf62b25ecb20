/* SPDX-License-Identifier: MIT */
/* The layer of `rxe_dm run --record`: which verbs a program calls, with arguments, results and
 * times, and which completions and events it gets.
 *
 * libibverbs.so.1 is built once more for it, as for `--check` (lib/check/check.h): a verb that is
 * recorded is defined here under its public name and calls the library's function as below_NAME
 * (below.h); operations that programs reach by tables are replaced when an object is made. The
 * layer stands on the first build, or on that of `--check`. So neither has one instruction of this
 * room, and calls inside the library are not recorded.
 *
 *   ring.c      one file for each process, in the folder RXE_DM_RECORD: a ring of calls
 *   cm.c        the same for the record build of librdmacm.so.1 (cm/cm.h)
 *   verbs.h     the table of verbs, with the names of their arguments
 *   device.c    opens and closes; the others wrap the verbs of one kind of object each
 *
 * The file is a shared mapping: it has each finished call also when the process is killed. The last
 * RECORD_SLOTS calls are kept. The head of the file has the table of verbs, so a reader needs no
 * other (rxe_dm/report/calls.py).
 *
 * The room takes no lock, changes nothing that a program gets, and knows nothing of sockets or of
 * the engine. Called by programs; calls the library below it. */
#ifndef RXE_RECORD_RING_H
#define RXE_RECORD_RING_H

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/record/verbs.h"

#define RECORD_MAGIC	  0x316c6c61635f6d64ull /* "dm_call1" */
#define RECORD_SLOTS	  65536u
#define RECORD_ARGS	  12u
#define RECORD_HEAD_BYTES 16384u
#define RECORD_TABLE	  (RECORD_HEAD_BYTES - 64u)

struct record_call {
	/* Counts calls from 1. An entry with another number is not complete. */
	_Atomic uint64_t number;
	uint64_t time_ns; /* CLOCK_MONOTONIC, when the call began */
	uint32_t took_ns; /* UINT32_MAX: that or longer */
	uint32_t thread;  /* gettid(2) */
	uint16_t verb;	  /* enum record_verb: the line of the table */
	uint16_t num_args;
	int32_t error; /* errno; 0: the call succeeded */
	uint64_t arg[RECORD_ARGS];
};
static_assert(sizeof(struct record_call) == 128, "file format");

struct record_head {
	uint64_t magic;
	uint32_t head_bytes, call_bytes, slots;
	int32_t pid;
	int64_t epoch_ns;      /* to add to times: from CLOCK_MONOTONIC to 1970 */
	_Atomic uint64_t next; /* calls that were begun to be written, since the first */
	char comm[16];
	uint64_t reserved;
	char table[RECORD_TABLE]; /* a line for each verb: its name, and those of its arguments */
};
static_assert(sizeof(struct record_head) == RECORD_HEAD_BYTES, "file format");

/* CLOCK_MONOTONIC, to be read in front of a call. */
uint64_t record_now(void);
/* Writes a call that began at that time and ends now. Keeps errno. Does nothing where the process
 * is not recorded. */
void record_add(enum record_verb verb, uint64_t began_ns, int error, const uint64_t *arg,
		uint32_t num_args);

/* The error of a call that returns a positive errno, or -1 with errno. */
static inline int record_error(int rc)
{
	return rc < 0 ? errno : rc;
}

/* The error of a call that returns an object, or NULL with errno. */
static inline int record_null(const void *made)
{
	return made ? 0 : errno;
}

/* The arguments are converted to uint64_t; pointers by RECORD_ADDRESS(). */
#define RECORD(verb, began_ns, error, ...)                                                         \
	record_add(verb, began_ns, error, (const uint64_t[]){ __VA_ARGS__ },                       \
		   (uint32_t)(sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)))
#define RECORD_ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

#endif
