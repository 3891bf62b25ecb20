// SPDX-License-Identifier: MIT
/* The entry: which kind of failure it is. */
#include "lib/diagnose/diagnose.h"

#include <stdarg.h>
#include <stdio.h>

#include "emu/cq.h"
#include "lib/diagnose/cause.h"

void say(struct sentence *s, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->text + s->len, s->size - s->len, format, args);
	va_end(args);
	s->len += n > 0 ? (size_t)n : 0;
	if (s->len >= s->size)
		s->len = s->size - 1;
}

void diagnose_failure(char *ret, size_t size, const struct diagnosis *d, const struct rxe_qp *qp,
		      enum rxe_failed what, enum rxe_wc_status status)
{
	struct sentence s = { .text = ret, .size = size };

	ret[0] = '\0';
	if (qp->injected || (qp->claim.held && qp->claim.injected != RXE_WC_SUCCESS)) {
		say(&s, "a fault rule injected this error ('rxe_dm fault list')");
		return;
	}
	switch (what) {
	case RXE_FAILED_SEND: say_request(&s, d, qp, status); return;
	case RXE_FAILED_RECV: say_receive(&s, qp, status); return;
	case RXE_FAILED_RESPONSE: say_response(&s, d, qp); return;
	case RXE_FAILED_CQ:
		say(&s,
		    "its %scompletion queue overran: create a larger one, or poll it more often",
		    qp->type == RXE_QPT_WQ		  ? ""
		    : qp->send_cq && qp->send_cq->overrun ? "send "
							  : "receive ");
		return;
	}
}
