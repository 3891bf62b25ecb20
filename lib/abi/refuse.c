// SPDX-License-Identifier: MIT
/* The operations that this device does not have. */
#include <errno.h>

#include "lib/abi/private.h"

/* Each entry has a function of its own type: a call through a pointer of another type is
 * undefined, and CFI traps it. */
#define REFUSE_INT(name, ...)                                                                      \
	static int name(__VA_ARGS__)                                                               \
	{                                                                                          \
		return errno = EOPNOTSUPP;                                                         \
	}

#define REFUSE_PTR(type, name, ...)                                                                \
	static type *name(__VA_ARGS__)                                                             \
	{                                                                                          \
		errno = EOPNOTSUPP;                                                                \
		return NULL;                                                                       \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

REFUSE_INT(modify_esp, struct ibv_flow_action *action, struct ibv_flow_action_esp_attr *attr)
REFUSE_INT(destroy_flow_action, struct ibv_flow_action *action)
REFUSE_PTR(struct ibv_flow_action, create_esp, struct ibv_context *context,
	   struct ibv_flow_action_esp_attr *attr)

/* Entries that no program has called since the ABI of IBVERBS_1.1. */
static void *retired(void)
{
	errno = ENOSYS;
	return NULL;
}

/* Entries that are not functions any more. */
static void placeholder(void)
{
}

static void refuse_basic(struct ibv_context_ops *ops)
{
	ops->_compat_alloc_pd = retired;
	ops->_compat_dealloc_pd = retired;
	ops->_compat_reg_mr = retired;
	ops->_compat_rereg_mr = retired;
	ops->_compat_dereg_mr = retired;
	ops->_compat_create_cq = retired;
	ops->_compat_cq_event = retired;
	ops->_compat_resize_cq = retired;
	ops->_compat_destroy_cq = retired;
	ops->_compat_create_srq = retired;
	ops->_compat_modify_srq = retired;
	ops->_compat_query_srq = retired;
	ops->_compat_destroy_srq = retired;
	ops->_compat_create_qp = retired;
	ops->_compat_query_qp = retired;
	ops->_compat_modify_qp = retired;
	ops->_compat_destroy_qp = retired;
	ops->_compat_create_ah = retired;
	ops->_compat_destroy_ah = retired;
	ops->_compat_attach_mcast = retired;
	ops->_compat_detach_mcast = retired;
	ops->_compat_async_event = retired;
}

void abi_refuse_ops(struct verbs_context *verbs)
{
	verbs->modify_flow_action_esp = modify_esp;
	verbs->destroy_flow_action = destroy_flow_action;
	verbs->create_flow_action_esp = create_esp;
	verbs->ABI_placeholder2 = placeholder;
	verbs->ABI_placeholder1 = placeholder;
	refuse_basic(&verbs->context.ops);
}
