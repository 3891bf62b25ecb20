// SPDX-License-Identifier: MIT
/* Binding to addresses, resolving of addresses and routes, and options. */
#include <string.h>

#include "lib/rdmacm/address.h"
#include "lib/rdmacm/ask.h"
#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/explain.h"
#include "lib/rdmacm/finish.h"
#include "lib/refusal/refusal.h"

static uint32_t at_least_0(int value)
{
	return value > 0 ? (uint32_t)value : 0;
}

/* A request whose reply has the id's addresses. */
static int ask_address(struct rcm_id *id, struct ctl_msg_cm *req)
{
	struct ctl_msg_cm_reply reply;
	int err = rcm_id_ask(id, req, &reply);

	return err ? err : rcm_address_fill(id, &reply.addr);
}

static void explain_source(const struct rdma_cm_id *base, const struct sockaddr *addr, int err)
{
	if (err && base && base->channel)
		rcm_explain_source(rcm_channel(base->channel)->server, addr, err);
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct ctl_msg_cm req = { .op = CTL_CM_BIND };
	int err = rcm_address_pack(&req.src, addr);

	if (!err) {
		err = ask_address(rcm_id(base), &req);
		explain_source(base, addr, err);
	}
	return rcm_result(err);
}

int rdma_listen(struct rdma_cm_id *base, int backlog)
{
	struct ctl_msg_cm req = { .op = CTL_CM_LISTEN, .backlog = at_least_0(backlog) };

	return rcm_result(ask_address(rcm_id(base), &req));
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *src, struct sockaddr *dst,
		      int timeout_ms)
{
	struct ctl_msg_cm req = { .op = CTL_CM_RESOLVE_ADDR, .timeout_ms = at_least_0(timeout_ms) };
	struct sockaddr_storage former;
	int err = rcm_address_pack(&req.dst, dst);

	if (!err && src)
		err = rcm_address_pack(&req.src, src);
	if (err || !base)
		return rcm_result(err ? err : refuse(WHY_NULL, "id"));

	/* Before the request: another thread may take the event before this call returns. */
	former = base->route.addr.dst_storage;
	memcpy(&base->route.addr.dst_storage, dst, rcm_address_len(dst));
	err = rcm_id_ask(rcm_id(base), &req, NULL);
	if (!err)
		return rcm_result(rcm_id_finish(rcm_id(base)));
	base->route.addr.dst_storage = former;
	if (src)
		explain_source(base, src, err);
	return rcm_result(err);
}

int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
	struct ctl_msg_cm req = { .op = CTL_CM_RESOLVE_ROUTE,
				  .timeout_ms = at_least_0(timeout_ms) };

	return rcm_result(rcm_id_call(rcm_id(base), &req));
}

int rdma_set_option(struct rdma_cm_id *base, int level, int name, void *value, size_t len)
{
	struct ctl_msg_cm req = {
		.op = CTL_CM_SET_OPTION,
		.level = (uint32_t)level,
		.name = (uint32_t)name,
		.option_len = (uint32_t)len,
	};
	struct rcm_id *id = rcm_id(base);

	if (refuse_if(!base, WHY_NULL, "id") || refuse_if(len && !value, WHY_NULL, "optval") ||
	    refuse_if(len > sizeof(req.option), WHY_CM_OPTION_LEN, len))
		return rcm_result(refusal_noted());
	id->asks_attr = true;
	id->attr.mask = 0;
	if (len)
		memcpy(req.option, value, len);
	return rcm_result(rcm_id_ask(id, &req, NULL));
}
