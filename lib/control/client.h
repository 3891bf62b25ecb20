/* SPDX-License-Identifier: MIT */
/* The client's side of the control socket. Every call is one request and one reply, and returns 0
 * or a negative errno. The room answers for nothing on the data path. Callers: libibverbs, libmlx5
 * and the rxe_dm command.
 *
 * Thread-safe: one lock per connection. After fork() the child's first call opens a connection and
 * takes a slot of the child's own: contexts and attachments stay valid (same handles, descriptor
 * numbers and mappings), and ctl_attach() returns the new slot. A call
 * fails with -ENODEV after the server has exited. */
#ifndef RXE_CONTROL_CLIENT_H
#define RXE_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/control/protocol.h"
#include "lib/control/shared.h"
#include "net/wire/gid.h"

struct ctl_client; /* a connection to the server of an instance */

/* An open context. All contexts of a process on a device share its attachment. */
struct ctl_context {
	struct ctl_client *client;
	uint32_t handle;
	int cmd_fd; /* another process imports the context by it: ibv_import_device() */
	uint32_t device;
};

struct ctl_attachment {
	struct ctl_client *client;
	uint32_t slot;
	int rx_fd; /* the slot's socket; of a UDP link: connect() and shutdown() are forbidden */
	/* On an interface: the packet socket to send frames by. On a memory link: the slot's rings.
	 * Else -1. */
	int tx_fd;
	int hub_fd;   /* of a memory link: the hub's page; else -1 */
	int event_fd; /* SEQPACKET of struct ctl_event, both ways; the end: the server has exited */
	struct ctl_shared *shared;
	uint8_t *arena;
	uint64_t arena_bytes;
};

/* Not for programs: a capture begins (with the descriptor of its rings), or the last one ends. */
#define CTL_EVENT_CAPTURE 0x10000u
/* An event of an XRC target, whose number is in port. With an enum ibv_event_type, or alone: no
 * handle of it is left, and the process that has it ends it. */
#define CTL_EVENT_QP 0x20000u
/* From the process that has the XRC target: it ends although others have it open. */
#define CTL_EVENT_QP_ENDED 0x40000u

struct ctl_event {
	uint32_t type; /* enum ibv_event_type, or CTL_EVENT_* */
	uint32_t port;
};

/* Connects to the instance that the environment names, and starts its server if none runs.
 * -ECONNREFUSED: the server cannot be started; -EPROTO: library and server differ in version;
 * -EPERM: another user's process holds the name. Each is explained on the log (log.h). */
int ctl_connect(struct ctl_client **ret);
void ctl_disconnect(struct ctl_client *client);
/* True: the server has not exited. No round trip. */
bool ctl_alive(struct ctl_client *client);
int ctl_list_devices(struct ctl_client *client, struct ctl_device *ret, size_t max,
		     size_t *ret_count);

/* The process's slot on a device. The first call takes it, later calls return the same and count;
 * the last ctl_detach() gives it back. */
int ctl_attach(struct ctl_client *client, uint32_t device, struct ctl_attachment *ret);
void ctl_detach(struct ctl_client *client, uint32_t device, struct ctl_attachment *attachment);
/* The process is about to send packets: its event_fd tells it of captures from now on, and first of
 * those that run. */
int ctl_join_captures(struct ctl_client *client, uint32_t device);
/* On a memory link: returns a descriptor of another slot's rings, to read, which the caller closes.
 * *ret_epoch: the epoch of the slot's process. -ENOENT, -EAGAIN: it has none, or none yet. -EBUSY:
 * another thread is in a call, which may wait until this one's turn of the engine has ended. */
int ctl_meet(struct ctl_client *client, uint32_t device, uint32_t slot, uint32_t *ret_epoch);
int ctl_open(struct ctl_client *client, uint32_t device, struct ctl_context *ret);
/* Ends this process's use of a context, which the last user frees; closes context->cmd_fd. */
int ctl_close(struct ctl_context *context);
/* True: the descriptor is the cmd_fd of a context of this client. */
bool ctl_holds(struct ctl_client *client, int cmd_fd);
/* Joins the context of a received cmd_fd, which stays the caller's; *ret has a cmd_fd of its own.
 * -EINVAL: not a cmd_fd; -EXDEV: of another instance; -ENODEV: its server has exited. */
int ctl_import(struct ctl_client *client, int cmd_fd, struct ctl_context *ret);

int ctl_alloc_pd(const struct ctl_context *context, uint32_t *ret_handle);
int ctl_use_pd(const struct ctl_context *context, uint32_t handle,
	       int delta); /* QP, SRQ, AH on it */

int ctl_reg_mr(const struct ctl_context *context, const struct ctl_reg_mr *reg,
	       uint32_t *ret_handle, uint32_t *ret_key);
/* Replaces everything of a region but its key (which also changes if it is dead, or if a stopped
 * process may still use it). The caller keeps its own engine out of the region meanwhile. */
int ctl_rereg_mr(const struct ctl_context *context, uint32_t handle, const struct ctl_reg_mr *reg,
		 uint32_t *ret_key);

int ctl_alloc_dm(const struct ctl_context *context, uint64_t len, uint32_t log_align,
		 uint32_t *ret_handle, uint64_t *ret_offset);
/* Makes a dmabuf of a DM; -EOPNOTSUPP: the kernel has no udmabuf (docs/DEVIATIONS.md). */
int ctl_export_dm(const struct ctl_context *context, uint32_t handle, int *ret_fd);

int ctl_alloc_dmah(const struct ctl_context *context, const struct ctl_dmah *dmah,
		   uint32_t *ret_handle);

int ctl_reg_umem(const struct ctl_context *context, const struct ctl_reg_mr *umem,
		 uint32_t *ret_handle);

/* Opens the XRC domain of the inode of fd, or with fd -1 a private one. flags: enum ctl_xrcd_flag.
 * -EAGAIN: the domain does not exist and CREATE is not set; -EINVAL: it exists and EXCLUSIVE is
 * set. *ret_domain is its number, the same for all who open it. */
int ctl_open_xrcd(const struct ctl_context *context, int fd, uint32_t flags, uint32_t *ret_handle,
		  uint32_t *ret_domain);
/* The process's own XRC target (is_new), or one of another that it opens. -EINVAL: the domain has
 * no such queue pair. *ret_epoch: of the slot in the number. */
int ctl_open_qp(const struct ctl_context *context, uint32_t xrcd, uint32_t qpn, bool is_new,
		uint32_t *ret_handle, uint32_t *ret_epoch);
/* *ret_left: handles of the queue pair that remain, of all processes. */
int ctl_close_qp(const struct ctl_context *context, uint32_t handle, uint32_t *ret_left);

/* Allocates a memory window. kind: RXE_MR_WINDOW_1 or 2. *ret_index: place of its binding in the
 * slot's table. -ENOMEM: the process has as many as its table takes. */
int ctl_alloc_mw(const struct ctl_context *context, uint32_t pd, uint32_t kind,
		 uint32_t *ret_handle, uint32_t *ret_key, uint32_t *ret_index);

/* Frees an object of the context. -EINVAL: no such object of that kind; -EBUSY: others use it,
 * or windows are bound to the region. On return no other process accesses a freed region or window;
 * the caller keeps its own engine out. */
int ctl_free(const struct ctl_context *context, enum ctl_kind kind, uint32_t handle);
/* Describes an object of the context, made by any of its users, for the import calls. -ENOENT: the
 * context has no such object of that kind. */
struct ctl_object;
int ctl_query(const struct ctl_context *context, uint32_t kind, uint32_t handle,
	      struct ctl_object *ret);

/* Gives the server a descriptor of this process's findings (lib/findings/record.h), which stays the
 * caller's. -EINVAL: not a sealed memfd of the right size. */
int ctl_keep_findings(struct ctl_client *client, int fd);

#endif
