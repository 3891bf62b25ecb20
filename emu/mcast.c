/* SPDX-License-Identifier: MIT */
/* Membership of multicast groups (IBTA 10.5). The host joins a group with its link when the first
 * QP attaches, and leaves it with the last. */
#include "emu/mcast.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/qp.h"

const struct rxe_mcast_group *rxe_mcast_find(const struct rxe_engine *engine, const struct gid *gid)
{
	uint32_t i;

	for (i = 0; i < RXE_MAX_MCAST_GRP; i++) {
		const struct rxe_mcast_group *group = &engine->mcast.group[i];

		if (group->num_qps > 0 && gid_equal(&group->gid, gid))
			return group;
	}
	return NULL;
}

static struct rxe_mcast_group *find_or_free(struct rxe_engine *engine, const struct gid *gid)
{
	const uint32_t offered = engine->cfg.offer.max_mcast_grp;
	struct rxe_mcast_group *found = NULL;
	uint32_t i;

	for (i = 0; i < (offered ? offered : RXE_MAX_MCAST_GRP); i++) {
		struct rxe_mcast_group *group = &engine->mcast.group[i];

		if (group->num_qps == 0)
			found = found ? found : group;
		else if (gid_equal(&group->gid, gid))
			return group;
	}
	return found;
}

static uint32_t place_of(const struct rxe_mcast_group *group, const struct rxe_qp *qp)
{
	uint32_t i = 0;

	while (i < group->num_qps && group->qp[i] != qp)
		i++;
	return i;
}

enum mcast_result rxe_mcast_attach(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct gid *gid)
{
	const uint32_t offered = engine->cfg.offer.max_mcast_qp;
	struct rxe_mcast_group *group;

	if (qp->type != RXE_QPT_UD)
		return MCAST_NOT_UD;
	if (!gid_is_multicast(gid))
		return MCAST_NOT_GROUP;
	group = find_or_free(engine, gid);
	if (!group)
		return MCAST_FULL;
	/* A QP attached twice still gets one copy (IBTA 11.3.1). */
	if (place_of(group, qp) < group->num_qps)
		return MCAST_OK;
	if (group->num_qps == (offered ? offered : RXE_MAX_MCAST_QP))
		return MCAST_FULL;
	group->gid = *gid;
	group->qp[group->num_qps++] = qp;
	return group->num_qps == 1 ? MCAST_FIRST : MCAST_OK;
}

static bool take_out(struct rxe_mcast_group *group, const struct rxe_qp *qp)
{
	uint32_t place = place_of(group, qp);

	assert(group->num_qps <= RXE_MAX_MCAST_QP);
	if (place == group->num_qps)
		return false;
	group->qp[place] = group->qp[--group->num_qps];
	return true;
}

enum mcast_result rxe_mcast_detach(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct gid *gid)
{
	struct rxe_mcast_group *group = find_or_free(engine, gid);

	if (!group || group->num_qps == 0 || !take_out(group, qp))
		return MCAST_NOT_ATTACHED;
	return group->num_qps == 0 ? MCAST_FIRST : MCAST_OK;
}

bool rxe_mcast_is_attached(const struct rxe_engine *engine, const struct rxe_qp *qp)
{
	uint32_t i;

	for (i = 0; i < RXE_MAX_MCAST_GRP; i++) {
		const struct rxe_mcast_group *group = &engine->mcast.group[i];

		if (place_of(group, qp) < group->num_qps)
			return true;
	}
	return false;
}

void rxe_mcast_forget(struct rxe_engine *engine, const struct rxe_qp *qp)
{
	uint32_t i;

	assert(qp->type == RXE_QPT_UD);
	for (i = 0; i < RXE_MAX_MCAST_GRP; i++)
		take_out(&engine->mcast.group[i], qp);
}
