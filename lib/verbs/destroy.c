// SPDX-License-Identifier: MIT
/* Steps of all destroy verbs: a live object, no injected failure, once, and the server agrees. */
#include "lib/verbs/destroy.h"

#include <errno.h>
#include <stdbool.h>

#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/inject/verb.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"

/* All kinds but contexts begin with a pointer to their context. */
static struct ibv_context *context_of(const void *object)
{
	return *(struct ibv_context *const *)object;
}

/* Kinds whose end the server learns, itself or as a user: a child of fork() attaches first. */
#define IN_SERVER                                                                                  \
	(1u << VB_KIND_PD | 1u << VB_KIND_MR | 1u << VB_KIND_DM | 1u << VB_KIND_DMAH |             \
	 1u << VB_KIND_UMEM | 1u << VB_KIND_MKEY | 1u << VB_KIND_XRCD | 1u << VB_KIND_MW)

static bool may_follow(const void *object, enum vb_kind kind)
{
	return vb_live_is(object, kind) &&
	       (!(1u << kind & IN_SERVER) || vb_is_context(context_of(object)));
}

int vb_destroy_check(const void *object, enum vb_kind kind, enum inject_verb verb)
{
	if (!may_follow(object, kind))
		return EINVAL;
	return vb_gate_fails(context_of(object), verb) ? errno : 0;
}

int vb_destroy_check_unnamed(const void *object, enum vb_kind kind)
{
	return may_follow(object, kind) ? vb_gate_dead(context_of(object), INJECT_VERB_DESTROY)
					: EINVAL;
}

int vb_destroy_take(void *object, enum vb_kind kind, enum ctl_kind in_server, uint32_t handle)
{
	const struct vb_context *ctx = vb_context(context_of(object));
	const bool local = in_server == CTL_KIND_FREE || vb_live_is_inherited(object);
	int err;

	if (!vb_live_take(object, kind))
		return EINVAL;
	err = local ? 0 : -ctl_free(&ctx->ctl, in_server, handle);
	/* A server that exited has destroyed its objects. */
	if (!err || err == ENODEV)
		return 0;
	vb_live_add(object, kind);
	return err;
}
