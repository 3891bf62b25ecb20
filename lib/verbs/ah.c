// SPDX-License-Identifier: MIT
/* Address handles (ibv_create_ah(3)). RoCE addresses by GID; LIDs are ignored. */
#include "lib/verbs/ah.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emu/limits.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/pd.h"

/* RoCEv2 annex A17.4.5.1: an IPv4 header takes the last 20 of the 40 bytes of a GRH. */
#define GRH_V4_OFF 20

int vb_av_from_attr(struct vb_device *dev, const struct ibv_ah_attr *attr, struct rxe_av *ret)
{
	struct gid dgid, sgid;

	if (!attr->is_global)
		return refuse(WHY_NO_GRH);
	if (attr->port_num != VB_PORT)
		return refuse(WHY_BAD_PORT, attr->port_num);
	if (attr->grh.sgid_index >= RXE_MAX_GIDS)
		return refuse(WHY_SGID_INDEX, attr->grh.sgid_index, RXE_MAX_GIDS);
	memcpy(dgid.raw, attr->grh.dgid.raw, sizeof(dgid.raw));
	if (gid_is_zero(&dgid))
		return refuse(WHY_NO_DGID);
	sgid = device_link_gid(&dev->progress, attr->grh.sgid_index);
	if (gid_is_zero(&sgid) || gid_is_v4(&sgid) != gid_is_v4(&dgid))
		return refuse(WHY_SGID_FAMILY, attr->grh.sgid_index,
			      gid_is_zero(&sgid) ? "empty" : "of another address family");

	*ret = (struct rxe_av){
		.dgid = dgid,
		.flow_label = attr->grh.flow_label & 0xfffff,
		.sgid_index = attr->grh.sgid_index,
		.hop_limit = attr->grh.hop_limit,
		.traffic_class = attr->grh.traffic_class,
		.sl = attr->sl,
	};
	return 0;
}

/* ibv_create_ah(3). EINVAL: no GRH, another port than 1, or no GID. ENETUNREACH: the source GID is
 * empty or of another address family. */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct vb_ah *ah;
	int err;

	if (vb_refuses_pd(pd) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	ah = vb_object_begin(pd->context, VB_KIND_AH, sizeof(*ah), INJECT_VERB_create_ah);
	if (!ah)
		return vb_fail(errno);
	err = vb_av_from_attr(vb_device(pd->context), attr, &ah->av);
	if (!err)
		err = vb_pd_use(pd);
	if (err)
		return vb_fail(vb_object_undo(ah, err));
	ah->base.pd = pd;
	return &ah->base;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	int err = vb_object_end(ah, VB_KIND_AH, INJECT_VERB_destroy_ah);

	if (err)
		return vb_result(err);
	vb_pd_unuse(ah->pd);
	free(ah);
	return 0;
}

struct sender {
	struct gid sgid, dgid; /* of the received packet */
	uint32_t flow_label;
	uint8_t traffic_class;
};

/* Is there an IPv4 header at ip? Checks version, header length and checksum. */
static bool is_v4(const uint8_t *ip)
{
	uint32_t sum = 0;

	if (ip[0] != 0x45)
		return false;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

static bool sender_of(const struct ibv_grh *grh, struct sender *ret)
{
	const uint8_t *ip = (const uint8_t *)grh + GRH_V4_OFF;
	uint32_t first = ntohl(grh->version_tclass_flow);

	if (first >> 28 == 6) {
		memcpy(ret->sgid.raw, grh->sgid.raw, sizeof(ret->sgid.raw));
		memcpy(ret->dgid.raw, grh->dgid.raw, sizeof(ret->dgid.raw));
		ret->flow_label = first & 0xfffff;
		ret->traffic_class = (uint8_t)(first >> 20);
		return true;
	}
	if (!is_v4(ip))
		return false;
	gid_set_v4(&ret->sgid, ip + 12);
	gid_set_v4(&ret->dgid, ip + 16);
	ret->flow_label = 0;
	ret->traffic_class = ip[1];
	return true;
}

/* The GID index to answer from: that of the datagram's destination or, if it was multicast, any of
 * the sender's address family. */
static int source_index(const struct vb_device *dev, const struct sender *from)
{
	for (int i = 0; i < RXE_MAX_GIDS; i++) {
		const struct gid own = device_link_gid(&dev->progress, (uint32_t)i);

		if (gid_is_zero(&own))
			continue;
		if (gid_equal(&own, &from->dgid) ||
		    (gid_is_multicast(&from->dgid) && gid_is_v4(&own) == gid_is_v4(&from->sgid)))
			return i;
	}
	return -1;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *ret)
{
	struct sender from;
	int index;

	if (vb_refuses_context(context) || refuse_if(port_num != VB_PORT, WHY_BAD_PORT, port_num) ||
	    refuse_if(!wc, WHY_NULL, "wc") || refuse_if(!ret, WHY_NULL, "ret") ||
	    refuse_if(!(wc->wc_flags & IBV_WC_GRH) || !grh || !sender_of(grh, &from),
		      WHY_WC_NO_GRH))
		return vb_minus_one(refusal_noted());
	if (vb_verb_fails(context, init_ah_from_wc))
		return vb_minus_one(errno);
	index = source_index(vb_device(context), &from);
	if (index < 0)
		return vb_minus_one(refuse(WHY_WC_NO_GID));

	*ret = (struct ibv_ah_attr){
		.grh = { .flow_label = from.flow_label,
			 .sgid_index = (uint8_t)index,
			 .hop_limit = 64,
			 .traffic_class = from.traffic_class },
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.is_global = 1,
		.port_num = port_num,
	};
	memcpy(ret->grh.dgid.raw, from.sgid.raw, sizeof(ret->grh.dgid.raw));
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (vb_refuses_pd(pd))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(pd->context, create_ah_from_wc))
		return vb_fail(errno);
	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}
