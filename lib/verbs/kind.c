// SPDX-License-Identifier: MIT
/* Names of objects. */
#include "lib/verbs/kind.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *vb_kind_str(enum vb_kind kind)
{
	static const char *const names[VB_KINDS] = {
		[VB_KIND_CONTEXT] = "context",
		[VB_KIND_FLOW] = "flow",
		[VB_KIND_COUNTERS] = "counters object",
		[VB_KIND_QP] = "QP",
		[VB_KIND_TARGET] = "XRC target",
		[VB_KIND_WQ_TABLE] = "indirection table",
		[VB_KIND_WQ] = "WQ",
		[VB_KIND_SRQ] = "SRQ",
		[VB_KIND_XRCD] = "XRC domain",
		[VB_KIND_CQ] = "CQ",
		[VB_KIND_CHANNEL] = "completion channel",
		[VB_KIND_AH] = "AH",
		[VB_KIND_MW] = "MW",
		[VB_KIND_COMP_CNTR] = "completion counter",
		[VB_KIND_MR] = "MR",
		[VB_KIND_PD] = "PD",
		[VB_KIND_TD] = "TD",
		[VB_KIND_DM] = "DM",
		[VB_KIND_DMAH] = "DMA handle",
		[VB_KIND_BUF] = "buffer",
		[VB_KIND_UMEM] = "umem",
		[VB_KIND_MKEY] = "memory key",
	};

	assert(kind > 0 && kind < VB_KINDS);
	return names[kind];
}

const char *vb_qp_state_str(enum rxe_qp_state state)
{
	switch (state) {
	case RXE_QPS_RESET: return "RESET";
	case RXE_QPS_INIT: return "INIT";
	case RXE_QPS_RTR: return "RTR";
	case RXE_QPS_RTS: return "RTS";
	case RXE_QPS_SQD: return "SQD";
	case RXE_QPS_SQE: return "SQE";
	case RXE_QPS_ERR: return "ERR";
	}
	return "an unknown state";
}

const char *vb_qp_type_str(enum rxe_qp_type type)
{
	switch (type) {
	case RXE_QPT_RC: return "RC";
	case RXE_QPT_UC: return "UC";
	case RXE_QPT_UD: return "UD";
	case RXE_QPT_RAW: return "RAW_PACKET";
	case RXE_QPT_XRC_SEND: return "XRC_SEND";
	case RXE_QPT_XRC_RECV: return "XRC_RECV";
	case RXE_QPT_WQ: return "WQ";
	}
	return "unknown";
}

/* Kinds whose handle is the number in packets. */
static bool has_number(enum vb_kind kind)
{
	return kind == VB_KIND_QP || kind == VB_KIND_WQ || kind == VB_KIND_TARGET;
}

const char *vb_kind_name(enum vb_kind kind, uint32_t handle, const void *object,
			 char ret[static VB_NAME_MAX])
{
	if (has_number(kind))
		snprintf(ret, VB_NAME_MAX, "%s 0x%06x", vb_kind_str(kind), handle);
	else if (handle)
		snprintf(ret, VB_NAME_MAX, "%s %u", vb_kind_str(kind), handle);
	else
		snprintf(ret, VB_NAME_MAX, "%s %p", vb_kind_str(kind), object);
	return ret;
}

static void append(struct vb_names *names, const char *text)
{
	const size_t space = names->size - names->len, len = strlen(text);

	if (len < space) {
		memcpy(names->at + names->len, text, len + 1);
		names->len += len;
		return;
	}
	memcpy(names->at + names->size - 4, "...", 4);
	names->len = names->size - 1;
}

void vb_names_begin(struct vb_names *names, enum vb_kind kind, uint32_t n)
{
	char head[VB_NAME_MAX];

	names->kind = kind;
	names->n = n;
	names->added = 0;
	if (n == 0)
		return;
	if (names->len)
		append(names, ", ");
	snprintf(head, sizeof(head), "%u %ss (%s", n, vb_kind_str(kind),
		 has_number(kind) ? "" : "handles ");
	if (n > 1)
		append(names, head);
}

void vb_names_add(struct vb_names *names, uint32_t handle, const void *object)
{
	char name[VB_NAME_MAX];

	vb_kind_name(names->kind, handle, object, name);
	if (names->added++)
		append(names, ", ");
	append(names, names->n > 1 ? strrchr(name, ' ') + 1 : name);
}

void vb_names_end(struct vb_names *names)
{
	if (names->n > 1)
		append(names, ")");
}
