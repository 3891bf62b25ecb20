// SPDX-License-Identifier: MIT
/* Connections that the library completes, and refusals by this end. */
#include "lib/rdmacm/establish.h"

#include "lib/rdmacm/ask.h"
#include "lib/rdmacm/qp.h"

int rcm_refuse(const struct rcm_id *id, enum ctl_cm_refusal_reason reason, uint8_t asked,
	       uint8_t most, int err)
{
	struct ctl_msg_cm req = {
		.op = CTL_CM_REFUSED,
		.refusal = { .reason = (uint8_t)reason,
			     .asked = asked,
			     .most = most,
			     .status = -err },
	};

	(void)rcm_id_ask(id, &req, NULL);
	return err;
}

int rcm_establish_rts(struct rcm_id *id, uint8_t responder_resources, uint8_t initiator_depth)
{
	int err = rcm_qp_to_rts(id, responder_resources, initiator_depth);

	return err ? rcm_refuse(id, CTL_CM_REFUSED_QP, 0, 0, err) : 0;
}

int rcm_establish(struct rcm_id *id)
{
	struct ctl_msg_cm req = { .op = CTL_CM_ESTABLISH };

	return rcm_id_ask(id, &req, NULL);
}

int rcm_connect_finish(struct rcm_id *id, const struct ctl_cm_conn *conn)
{
	int err = rcm_qp_set_remote_ece(id, conn->ece_vendor, conn->ece_options);

	if (!err)
		err = rcm_establish_rts(id, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH);
	if (!err)
		err = rcm_establish(id);
	if (!err)
		err = rcm_qp_read_ece(id);
	if (err)
		rcm_qp_to_error(id);
	return err;
}
