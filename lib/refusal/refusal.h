/* SPDX-License-Identifier: MIT */
/* Why a call was refused, in one sentence for people.
 *
 * A call of libibverbs, librdmacm or libmlx5 that returns an error has refused the program's
 * request. The place that finds the mistake notes the reason, a row of reasons.h with its
 * parameters: `return refuse(WHY_NULL, "attr")`. The public function ends with the errno (vb_fail()
 * and its kin in lib/verbs/object.h), and reports there: the name of the call is put in front, and
 * the line goes to the log, to the keeper, and stays the thread's last refusal.
 *
 * Nothing here runs in a call that succeeds. The room knows no object of the verbs. libibverbs.so.1
 * contains and exports it, for librdmacm.so.1 and libmlx5.so.1, so a process has one copy. */
#ifndef RXE_REFUSAL_REFUSAL_H
#define RXE_REFUSAL_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/control/log.h"
#include "lib/refusal/reasons.h"

#define REFUSAL_CALL	 40
#define REFUSAL_SENTENCE 256

struct refusal {
	char call[REFUSAL_CALL]; /* "ibv_post_send" */
	const char *reason;	 /* name of the row, "send_state" */
	const char *manual;	 /* "ibv_post_send(3)", or NULL */
	int error;		 /* positive errno */
	uint32_t times;		 /* that the thread got this refusal, one after the other */
	char sentence[REFUSAL_SENTENCE];
};

#pragma GCC visibility push(default)
/* Notes why this thread's call is about to fail. The arguments are a row of reasons.h and its
 * parameters. Returns the row's errno; errno itself stays. */
int rxe_dm_refuse(const char *reason, int error, const char *manual, const char *format, ...)
	__attribute__((cold, noinline, format(printf, 4, 5)));
/* The report of this refusal also goes to stderr where VERBS_LOG_LEVEL is not set, as a message of
 * this level. Returns error. */
int rxe_dm_refuse_aloud(int error, enum ctl_log_level level) __attribute__((cold, noinline));
/* The errno of the reason that was noted last. */
int rxe_dm_noted_refusal(void) __attribute__((cold));
/* Ends a call that fails: reports what was noted, and sets errno. The call is the public name, or
 * the name of a function of ours without its "ibv_". A noted reason with another errno is not used:
 * then the report says that there is none. */
void rxe_dm_report_refusal(const char *call, int error) __attribute__((cold, noinline));
/* The last refusal that this thread reported, or NULL. Valid until the next one. */
const struct refusal *rxe_dm_last_refusal(void);
#pragma GCC visibility pop

/* refuse(WHY_NULL, "attr"). No row's errno is 0, which an analyzer of one file cannot see. */
#ifdef __clang_analyzer__
#define refuse(...) (rxe_dm_refuse(__VA_ARGS__) ?: -1)
#else
#define refuse(...) rxe_dm_refuse(__VA_ARGS__)
#endif
#define refuse_aloud(level, ...) rxe_dm_refuse_aloud(rxe_dm_refuse(__VA_ARGS__), level)
/* True if the condition holds, which is the reason. For conditions joined by ||. */
#define refuse_if(condition, ...) ((condition) && ((void)rxe_dm_refuse(__VA_ARGS__), true))
#define refusal_noted()		  rxe_dm_noted_refusal()
/* Writes "ibv_x: sentence (manual)", shortened to size bytes. */
void refusal_line(const struct refusal *refusal, char *ret, size_t size);

/* Set once, before other threads run: each report goes there as well. NULL: nowhere. The keeper
 * holds what `rxe_dm show` prints; the observer is the program's check. */
typedef void (*refusal_sink)(const struct refusal *refusal);
void refusal_keep_by(refusal_sink keeper);
void refusal_observe_by(refusal_sink observer);
/* There is an observer: the library is that of --check. */
bool refusal_is_observed(void);

#endif
