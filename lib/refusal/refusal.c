// SPDX-License-Identifier: MIT
/* Notes reasons for each thread, and reports them. */
#include "lib/refusal/refusal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lib/control/cancel.h"

/* What the thread has noted for the call that runs, and what it reported last. */
static __thread struct {
	struct refusal noted, last;
	bool is_noted, is_reported;
	int level; /* enum ctl_log_level, or 0: not aloud */
} mine;

static _Atomic(refusal_sink) keeper_now, observer_now;

void refusal_keep_by(refusal_sink keeper)
{
	atomic_store(&keeper_now, keeper);
}

void refusal_observe_by(refusal_sink observer)
{
	atomic_store(&observer_now, observer);
}

bool refusal_is_observed(void)
{
	return atomic_load(&observer_now) != NULL;
}

int rxe_dm_refuse(const char *reason, int error, const char *manual, const char *format, ...)
{
	const int saved = errno;
	struct refusal *noted = &mine.noted;
	va_list args;
	NO_CANCEL;

	noted->reason = reason;
	noted->error = error;
	noted->manual = manual;
	va_start(args, format);
	vsnprintf(noted->sentence, sizeof(noted->sentence), format, args);
	va_end(args);
	mine.is_noted = true;
	mine.level = 0;
	errno = saved;
	return error;
}

int rxe_dm_refuse_aloud(int error, enum ctl_log_level level)
{
	mine.level = (int)level;
	return error;
}

int rxe_dm_noted_refusal(void)
{
	return mine.is_noted ? mine.noted.error : EINVAL;
}

const struct refusal *rxe_dm_last_refusal(void)
{
	return mine.is_reported ? &mine.last : NULL;
}

void refusal_line(const struct refusal *refusal, char *ret, size_t size)
{
	const char *manual = refusal->manual;

	snprintf(ret, size, "%s: %s%s%s%s", refusal->call, refusal->sentence, manual ? " (" : "",
		 manual ? manual : "", manual ? ")" : "");
}

/* "ibv_post_send" of "post_send", "vb_post_send" and "_ibv_post_send". */
static void name_call(char ret[REFUSAL_CALL], const char *call)
{
	const char *prefix = "ibv_";

	call += strspn(call, "_");
	if (strncmp(call, "vb_", 3) == 0)
		call += 3;
	if (strncmp(call, "ibv_", 4) == 0 || strncmp(call, "rdma_", 5) == 0 ||
	    strncmp(call, "mlx5", 4) == 0)
		prefix = "";
	snprintf(ret, REFUSAL_CALL, "%s%s", prefix, call);
}

static bool is_again(const struct refusal *a, const struct refusal *b)
{
	return a->reason == b->reason && strcmp(a->call, b->call) == 0 &&
	       strcmp(a->sentence, b->sentence) == 0;
}

/* A program that repeats a call until it succeeds gets a line at each power of two. */
static void log_line(const struct refusal *refusal, int level)
{
	char line[REFUSAL_CALL + REFUSAL_SENTENCE + 64], times[32] = "";

	if (!level && !ctl_log_is_chosen())
		return;
	if (refusal->times & (refusal->times - 1))
		return;
	if (refusal->times > 1)
		snprintf(times, sizeof(times), ", %u times", refusal->times);
	refusal_line(refusal, line, sizeof(line));
	ctl_log(level ? (enum ctl_log_level)level : CTL_LOG_WARNING, "%s%s", line, times);
}

/* A call that passes on the failure of a verb has noted nothing: the verb has reported. */
static void note_other(int error)
{
	if (mine.is_reported && mine.last.error == error)
		refuse(WHY_CM_VERB(error), mine.last.call);
	else
		refuse(WHY_UNKNOWN(error), strerror(error));
}

void rxe_dm_report_refusal(const char *call, int error)
{
	struct refusal *noted = &mine.noted;
	const refusal_sink keeper = atomic_load(&keeper_now);
	const refusal_sink observer = atomic_load(&observer_now);
	NO_CANCEL;

	if (!mine.is_noted || noted->error != error)
		note_other(error);
	name_call(noted->call, call);
	noted->times = mine.is_reported && is_again(noted, &mine.last) ? mine.last.times + 1 : 1;
	mine.last = *noted;
	mine.is_reported = true;
	mine.is_noted = false;
	log_line(&mine.last, mine.level);
	if (keeper)
		keeper(&mine.last);
	if (observer)
		observer(&mine.last);
	errno = error;
}
