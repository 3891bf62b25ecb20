// SPDX-License-Identifier: MIT
/* RXE-REFUSAL-001: a call returned an error. The library has said why (lib/refusal); the stack is
 * the caller's. Programs ask for features by calls that fail with EOPNOTSUPP: no mistakes. */
#include <errno.h>
#include <stddef.h>

#include "lib/check/check.h"
#include "lib/check/report.h"
#include "lib/refusal/refusal.h"

static void observe(const struct refusal *refusal)
{
	char line[REFUSAL_CALL + REFUSAL_SENTENCE + 64];

	if (refusal->error == EOPNOTSUPP || check_is_inside())
		return;
	refusal_line(refusal, line, sizeof(line));
	check_lock();
	check_report(CHECK_REFUSAL, (struct check_where[]){ { "called here", NULL } }, 1, "%s",
		     line);
	check_unlock();
}

__attribute__((constructor)) static void observe_refusals(void)
{
	refusal_observe_by(observe);
}
