/* SPDX-License-Identifier: MIT */
/* The client's side of the control socket: every call is one request and one reply, and returns 0 or a negative errno.
 * Used by libibverbs, libmlx5 and the rxe_dm command.
 *
 * Thread-safe: a lock per connection. After fork() the child's first call connects it anew, as a process of its own with a
 * slot of its own: contexts and attachments stay valid (same handles, same descriptor numbers, same mappings), but
 * ctl_generation() moves on and ctl_attach() tells the new slot. A call whose server has gone answers -ENODEV. */
#ifndef RXE_CONTROL_CLIENT_H
#define RXE_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/control/protocol.h"
#include "lib/control/shared.h"
#include "net/wire/gid.h"

struct ctl_client; /* a connection of this process to the server of its instance */

struct ctl_device {
	char name[64]; /* rxe_dm0 */
	uint32_t index;
	uint64_t node_guid; /* big-endian, as verbs wants it */
	uint64_t sys_image_guid;
	struct gid gids[RXE_MAX_GIDS];
	uint32_t max_mtu; /* bytes: the largest RoCE MTU of the port */
	uint32_t if_index;
	char if_name[16];
	uint64_t arena_bytes; /* what the largest DM from an empty arena may have */
	enum ctl_arena_pages arena_pages;
	bool trains;
	bool mlx5; /* mlx5dv_is_supported() may say true */
	enum ctl_link link;
	/* Of a device on an interface: */
	uint8_t mac[CTL_MAC_LEN];
	uint32_t prefix_len; /* 0: everybody is reached directly */
	struct gid gateway;  /* zeros: none */
};

/* One opened device: a context, and this process's attachment to it. Mappings are shared by all contexts of the process on
 * that device; the slot, its socket and the engine too. */
struct ctl_context {
	uint32_t handle;
	int cmd_fd; /* dup or send it: ibv_import_device */
	uint32_t device;
};

struct ctl_attachment {
	uint32_t slot;
	int rx_fd; /* the slot's socket; one of a UDP link: never connect() it, never shutdown() it */
	int tx_fd; /* on an interface: the packet socket to send frames by; else -1 */
	int event_fd; /* readable SEQPACKET: struct ctl_event records from the server; EOF when it ended */
	struct ctl_shared *shared;
	uint8_t *arena;
	uint64_t arena_bytes;
};

/* Not for programs: a capture has begun (its rings' descriptor comes along), or the last one has ended (none does). */
#define CTL_EVENT_CAPTURE 0x10000u

struct ctl_event {
	uint32_t
		type; /* enum ibv_event_type: PORT_ACTIVE, PORT_ERR, GID_CHANGE, DEVICE_FATAL; or one of ours */
	uint32_t port;
};

/* Connect to the instance named by the environment, starting its server when none is there. -ECONNREFUSED: could not be
 * started; -EPROTO: library and server are of different versions; -EPERM: the name is held by another user. Each has been
 * explained in one line on the log (log.h). */
int ctl_connect(struct ctl_client **ret);
void ctl_disconnect(struct ctl_client *client);
/* Is the server still there? No round trip. */
bool ctl_alive(struct ctl_client *client);
/* Moves on in a child after fork(), at its first call: the slot is another one then. */
uint32_t ctl_generation(struct ctl_client *client);
int ctl_list_devices(struct ctl_client *client, struct ctl_device *ret, size_t max,
		     size_t *ret_count);

/* The process's slot on a device: the first call gets it, ctl_detach gives it back when the process has no context left.
 * Later calls answer the same and count. */
int ctl_attach(struct ctl_client *client, uint32_t device, struct ctl_attachment *ret);
void ctl_detach(struct ctl_client *client, uint32_t device, struct ctl_attachment *attachment);
int ctl_open(struct ctl_client *client, uint32_t device, struct ctl_context *ret);
/* Frees what this process holds of it, and the whole context when nobody else has it; closes context->cmd_fd. */
int ctl_close(struct ctl_client *client, struct ctl_context *context);
/* Is this descriptor the cmd_fd of a context of ours? */
bool ctl_holds(struct ctl_client *client, int cmd_fd);
/* Become one more user of the context that a received cmd_fd belongs to; ret_device says which. cmd_fd stays the caller's;
 * the new context has one of its own. -EINVAL: not a cmd_fd; -EXDEV: of another instance; -ENODEV: its server has gone. */
int ctl_import(struct ctl_client *client, int cmd_fd, struct ctl_context *ret);

int ctl_alloc_pd(struct ctl_client *client, const struct ctl_context *context,
		 uint32_t *ret_handle);
int ctl_dealloc_pd(struct ctl_client *client, const struct ctl_context *context,
		   uint32_t handle); /* -EBUSY */
int ctl_use_pd(struct ctl_client *client, const struct ctl_context *context, uint32_t handle,
	       int delta); /* QP, SRQ, AH on it */

#define CTL_KEY_LOW 0x100u

struct ctl_reg_mr {
	uint32_t pd;
	uint32_t kind; /* enum rxe_mr_kind */
	uint64_t addr; /* virtual address, or offset in the DM or the umem */
	uint64_t len, iova;
	uint32_t rights; /* enum rxe_right */
	uint32_t dm;	 /* RXE_MR_ARENA */
	uint32_t dmah;
	uint32_t
		umem; /* not 0: over this umem's memory, whoever owns it; kind is then the umem's */
	uint32_t low; /* CTL_KEY_LOW | the key's lowest byte; 0: any */
};
int ctl_reg_mr(struct ctl_client *client, const struct ctl_context *context,
	       const struct ctl_reg_mr *reg, uint32_t *ret_handle, uint32_t *ret_key);
/* A region with everything replaced under its present key (or a new one, if that is dead, or if a process that has been
 * stopped may still be using it). The caller keeps its own engine
 * out of it meanwhile. */
int ctl_rereg_mr(struct ctl_client *client, const struct ctl_context *context, uint32_t handle,
		 const struct ctl_reg_mr *reg, uint32_t *ret_key);
/* When it returns no other process is inside the region; the caller makes sure of its own engine. */
int ctl_dereg_mr(struct ctl_client *client, const struct ctl_context *context, uint32_t handle);

int ctl_alloc_dm(struct ctl_client *client, const struct ctl_context *context, uint64_t len,
		 uint32_t log_align, uint32_t *ret_handle, uint64_t *ret_offset);
int ctl_free_dm(struct ctl_client *client, const struct ctl_context *context,
		uint32_t handle); /* -EBUSY */
/* A dmabuf over a DM; -EOPNOTSUPP where the kernel offers no way (docs/DEVIATIONS.md). */
int ctl_export_dm(struct ctl_client *client, const struct ctl_context *context, uint32_t handle,
		  int *ret_fd);

enum ctl_dmah_field {
	CTL_DMAH_CPU_ID = 1 << 0,
	CTL_DMAH_PH = 1 << 1,
	CTL_DMAH_TPH_MEM_TYPE = 1 << 2,
};

struct ctl_dmah {
	uint32_t valid; /* enum ctl_dmah_field */
	uint32_t cpu_id, tph_mem_type, ph;
};
int ctl_alloc_dmah(struct ctl_client *client, const struct ctl_context *context,
		   const struct ctl_dmah *dmah, uint32_t *ret_handle);
int ctl_free_dmah(struct ctl_client *client, const struct ctl_context *context,
		  uint32_t handle); /* -EBUSY */

struct ctl_umem {
	uint64_t addr, len; /* memory of this process */
	uint32_t rights;
};
int ctl_reg_umem(struct ctl_client *client, const struct ctl_context *context,
		 const struct ctl_umem *umem, uint32_t *ret_handle);
int ctl_dereg_umem(struct ctl_client *client, const struct ctl_context *context,
		   uint32_t handle); /* -EBUSY */

/* An XRC domain: of the inode behind fd, shared by all that open it, or with fd -1 of its own. flags: enum ctl_xrcd_flag. -EAGAIN: it
 * does not exist, and was not to be made; -EINVAL: it does, and was to be made. *ret_domain is its number. */
int ctl_open_xrcd(struct ctl_client *client, const struct ctl_context *context, int fd,
		  uint32_t flags, uint32_t *ret_handle, uint32_t *ret_domain);
int ctl_close_xrcd(struct ctl_client *client, const struct ctl_context *context, uint32_t handle);

/* An object of the context, whoever made it: what import_pd, import_mr, import_dm and umem_import need. -ENOENT: no such
 * object of that kind in this context. */
struct ctl_object;
int ctl_query(struct ctl_client *client, const struct ctl_context *context, uint32_t kind,
	      uint32_t handle, struct ctl_object *ret);

#endif
