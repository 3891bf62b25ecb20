// SPDX-License-Identifier: MIT
/* Looks at the objects that are alive at an end. */
#include "lib/check/life.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/check/check.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/reach.h"
#include "lib/check/report.h"

void life_qp_ending(const struct check_qp *qp)
{
	const struct check_request *oldest = qp->send.first;

	if (!oldest || (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD))
		return;
	check_report(CHECK_LIFE_OUTSTANDING,
		     (struct check_where[]){ { "destroyed here", NULL },
					     { "posted here", &oldest->posted },
					     { "QP created here", &qp->object->made } },
		     3,
		     "ibv_destroy_qp: %s has %u send requests whose completion was not polled, the "
		     "oldest with wr_id 0x%" PRIx64,
		     qp->object->label, qp->send.count, oldest->wr_id);
}

void life_sending(const struct check_qp *qp, const struct ibv_send_wr *wr)
{
	if (qp->qp->qp_type == IBV_QPT_UD)
		(void)object_is_dead(wr->wr.ud.ah, VB_KIND_AH, "ibv_post_send");
}

struct closing {
	const struct check_object *context;
};

static void leaked_at_close(struct check_object *object, void *arg)
{
	const struct closing *closing = arg;

	if (object == closing->context)
		return;
	check_report(CHECK_LIFE_LEAK_CLOSE,
		     (struct check_where[]){ { "made here", &object->made },
					     { "context closed here", NULL } },
		     2, "ibv_close_device: %s was not destroyed before its context is closed",
		     object->label);
}

void life_closing(struct check_object *context)
{
	struct closing closing = { context };

	object_each(context->context, leaked_at_close, &closing);
}

static void leaked_at_exit(struct check_object *object, void *arg)
{
	if (!*(const bool *)arg && object->reached)
		return;
	check_report(*(const bool *)arg ? CHECK_LIFE_LEAKS_ALL : CHECK_LIFE_LEAK_EXIT,
		     (struct check_where[]){ { "made here", &object->made } }, 1,
		     "%s was not destroyed when the program ended", object->label);
}

void life_exit(void)
{
	bool all = check_is_on(CHECK_LIFE_LEAKS_ALL);

	if (all || (check_is_on(CHECK_LIFE_LEAK_EXIT) && reach_mark()))
		object_each(NULL, leaked_at_exit, &all);
}
