/* SPDX-License-Identifier: MIT */
/* The handlers of requests, as one table: serve_*.c and the files of their matter have them. */
#ifndef RXE_DM_SERVER_SERVE_H
#define RXE_DM_SERVER_SERVE_H

#include "lib/control/protocol.h"

struct call;
struct object;

enum serve_needs {
	NEEDS_NOTHING,
	NEEDS_DEVICE,
	NEEDS_CONTEXT, /* a context that the process has opened or imported */
};
/* The handler of each request: 0, a negative errno, or enum serve_result. */
#define SERVE_TABLE(X)                                                                             \
	X(CTL_DEVICE, serve_device, NEEDS_NOTHING)                                                 \
	X(CTL_ATTACH, serve_attach, NEEDS_DEVICE)                                                  \
	X(CTL_DETACH, serve_detach, NEEDS_DEVICE)                                                  \
	X(CTL_JOIN_CAPTURES, serve_join_captures, NEEDS_DEVICE)                                    \
	X(CTL_MEET, serve_meet, NEEDS_DEVICE)                                                      \
	X(CTL_OPEN, serve_open, NEEDS_DEVICE)                                                      \
	X(CTL_CLOSE, serve_close, NEEDS_CONTEXT)                                                   \
	X(CTL_ADOPT, serve_adopt, NEEDS_DEVICE)                                                    \
	X(CTL_ALLOC_PD, serve_alloc_pd, NEEDS_CONTEXT)                                             \
	X(CTL_USE_PD, serve_use_pd, NEEDS_CONTEXT)                                                 \
	X(CTL_REG_MR, serve_reg_mr, NEEDS_CONTEXT)                                                 \
	X(CTL_REREG_MR, serve_rereg_mr, NEEDS_CONTEXT)                                             \
	X(CTL_ALLOC_DM, serve_alloc_dm, NEEDS_CONTEXT)                                             \
	X(CTL_EXPORT_DM, serve_export_dm, NEEDS_CONTEXT)                                           \
	X(CTL_ALLOC_DMAH, serve_alloc_dmah, NEEDS_CONTEXT)                                         \
	X(CTL_REG_UMEM, serve_reg_umem, NEEDS_CONTEXT)                                             \
	X(CTL_OPEN_QP, serve_open_qp, NEEDS_CONTEXT)                                               \
	X(CTL_OPEN_XRCD, serve_open_xrcd, NEEDS_CONTEXT)                                           \
	X(CTL_ALLOC_MW, serve_alloc_mw, NEEDS_CONTEXT)                                             \
	X(CTL_FREE, serve_free, NEEDS_CONTEXT)                                                     \
	X(CTL_QUERY, serve_query, NEEDS_CONTEXT)                                                   \
	X(CTL_OBSERVE, serve_observe, NEEDS_DEVICE)                                                \
	X(CTL_OBJECTS, serve_objects, NEEDS_DEVICE)                                                \
	X(CTL_CAPTURE, serve_capture, NEEDS_DEVICE)                                                \
	X(CTL_FAULT, serve_fault, NEEDS_DEVICE)                                                    \
	X(CTL_CM, serve_cm, NEEDS_NOTHING)                                                         \
	X(CTL_STATUS, serve_status, NEEDS_NOTHING)                                                 \
	X(CTL_STAY, serve_stay, NEEDS_NOTHING)                                                     \
	X(CTL_SYSFS, serve_sysfs, NEEDS_NOTHING)                                                   \
	X(CTL_FINDINGS, serve_findings, NEEDS_NOTHING)
#define X(op, serve, needs) int serve(struct call *call);
SERVE_TABLE(X)
#undef X

/* What a listing of the device's objects says of one. */
void serve_describe(const struct object *object, struct ctl_object *ret);

#endif
