/* SPDX-License-Identifier: MIT */
/* Messages of the control socket: fixed-size records over AF_UNIX SOCK_SEQPACKET, one request and
 * one reply at a time.
 *
 * The hello is the first message of a connection and never changes its layout, so that two versions
 * recognize each other; all other messages may change with CTL_PROTOCOL. Descriptors are sent as
 * SCM_RIGHTS with a message. */
#ifndef RXE_CONTROL_PROTOCOL_H
#define RXE_CONTROL_PROTOCOL_H

#include <assert.h>
#include <stdint.h>

#include "emu/limits.h"
#include "emu/supported.h"
#include "lib/control/cm_request.h"
#include "lib/control/profile.h"
#include "lib/control/shared.h"
#include "lib/inject/rule.h"
#include "net/wire/gid.h"

#define CTL_MAGIC      "rxe_dm\0"
#define CTL_PROTOCOL   28
#define CTL_MAX_FDS    6 /* descriptors beside one message */
#define CTL_NAME_MAX   32
#define CTL_MAC_LEN    6
#define CTL_DEVICE_MAX 16 /* devices of one instance */

enum ctl_role {
	CTL_ROLE_PROGRAM = 1, /* keeps a lingering server alive */
	CTL_ROLE_COMMAND = 2, /* rxe_dm show, stop, ...: does not */
};

/* The link of a device. */
enum ctl_link {
	CTL_LINK_UDP, /* UDP port 4791 of an address of this machine */
	/* Frames on an Ethernet interface, with a MAC and an address of the device's own. */
	CTL_LINK_ETHERNET,
	CTL_LINK_MEMORY, /* shared memory, between the processes of one device */
};

/* What becomes of the timers of peers while a program is stopped by a signal, a tracer or a
 * freezer. */
enum ctl_stopped {
	CTL_STOPPED_WAIT, /* they stand still */
	CTL_STOPPED_LOSE, /* they expire, as those of peers on other hosts */
};

/* Pages of device memory. */
enum ctl_arena_pages {
	/* Huge pages if enough of them stay free, else ordinary pages. */
	CTL_PAGES_AUTO,
	CTL_PAGES_HUGE,	 /* huge pages, or the server does not start */
	CTL_PAGES_SMALL, /* ordinary pages */
};

/* First message, both ways. Status in the reply: 0, -EPROTO, or -ESHUTDOWN: the server is
 * ending. */
struct ctl_hello {
	char magic[8];
	uint32_t protocol;
	uint32_t layout; /* CTL_LAYOUT: detects builds that differ without a new CTL_PROTOCOL */
	uint32_t role;	 /* enum ctl_role; 0 in the reply */
	int32_t status;
	uint64_t server_id; /* random, of this run of the server */
	int32_t pid;
	char version[28];
};
static_assert(sizeof(struct ctl_hello) == 64, "never changes");

enum ctl_op {
	CTL_DEVICE = 1, /* handle: index */
	/* fds: shared memory, arena, receive socket, event socket; on an interface a send socket,
	 * of a memory link the doorbell as receive socket, the slot's rings and the hub's page */
	CTL_ATTACH,
	CTL_DETACH,
	CTL_JOIN_CAPTURES,
	CTL_MEET,  /* of a memory link; handle: another slot; fd: its rings, to read */
	CTL_OPEN,  /* fd: cmd_fd */
	CTL_CLOSE, /* context */
	CTL_ADOPT, /* context by token; fd: cmd_fd */
	CTL_ALLOC_PD,
	CTL_USE_PD,
	CTL_REG_MR,
	CTL_REREG_MR,
	CTL_ALLOC_DM,
	CTL_EXPORT_DM, /* fd: a dmabuf */
	CTL_ALLOC_DMAH,
	CTL_REG_UMEM,
	CTL_OPEN_XRCD, /* fd in: a descriptor of the inode */
	CTL_ALLOC_MW,
	CTL_OPEN_QP, /* qp: announces an XRC target of the caller, or opens one */
	CTL_FREE,    /* an object by its kind and handle */
	CTL_QUERY,   /* an object by its handle */
	CTL_OBSERVE, /* fd: shared memory, to read */
	/* A page of the device's objects, contexts included; handle: index of the first. */
	CTL_OBJECTS,
	/* fd: the rings of captured packets. The capture ends with the connection. */
	CTL_CAPTURE,
	CTL_FAULT, /* add, remove or clear rules; shared memory lists them */
	CTL_CM,	   /* cm.op: the connection manager, see cm_request.h */
	CTL_STATUS,
	CTL_STAY, /* the server does not end after its last client */
	CTL_SYSFS, /* the files of the devices as Linux's sysfs has them, kept while the caller runs */
	/* fd in: keeps the caller's findings (lib/findings); without: fd of those at handle */
	CTL_FINDINGS,
	CTL_OP_END,
};

enum ctl_kind {
	CTL_KIND_FREE = 0,
	CTL_KIND_CONTEXT,
	CTL_KIND_PD,
	CTL_KIND_MR,
	CTL_KIND_DM,
	CTL_KIND_DMAH,
	CTL_KIND_UMEM,
	CTL_KIND_XRCD,
	CTL_KIND_MW,
	CTL_KIND_QP, /* a process's handle of an XRC target */
};

/* A region to be registered or changed; of a umem only addr, len and rights. */
struct ctl_reg_mr {
	uint64_t addr; /* virtual address, or offset in the DM or the umem */
	uint64_t len, iova;
	uint32_t pd;
	uint32_t kind;	 /* enum rxe_mr_kind */
	uint32_t rights; /* enum rxe_right */
	uint32_t dm;	 /* RXE_MR_ARENA */
	uint32_t dmah;
	uint32_t umem; /* not 0: over this umem's memory, in any process; kind is then the umem's */
	uint32_t low;  /* CTL_KEY_LOW | the key's lowest byte; 0: any */
};
#define CTL_KEY_LOW 0x100u

struct ctl_msg_dm {
	uint64_t len, offset;
	uint32_t log_align, reserved;
};

enum ctl_dmah_field {
	CTL_DMAH_CPU_ID = 1 << 0,
	CTL_DMAH_PH = 1 << 1,
	CTL_DMAH_TPH_MEM_TYPE = 1 << 2,
};

struct ctl_dmah {
	uint32_t valid; /* enum ctl_dmah_field: which of the others are set */
	uint32_t cpu_id, tph_mem_type, ph;
};

enum ctl_xrcd_flag {
	CTL_XRCD_CREATE = 1 << 0,
	CTL_XRCD_EXCLUSIVE = 1 << 1, /* with CREATE: the domain must not exist */
};

struct ctl_msg_xrcd {
	uint32_t flags; /* enum ctl_xrcd_flag */
};

struct ctl_msg_mw {
	uint32_t pd;
	uint32_t kind; /* RXE_MR_WINDOW_1 or 2 */
};

/* The process that creates an XRC target announces it; it has a handle of it as any that opens
 * it. */
struct ctl_msg_qp {
	uint32_t xrcd; /* handle of the caller's */
	uint32_t qpn;
	uint32_t is_new; /* 1: announces */
};

struct ctl_msg_capture {
	uint32_t ring_bytes; /* for each program, a power of two; the first capture decides */
	uint32_t keep;	     /* bytes of each packet */
	uint32_t inside;     /* 1: arrivals from the same device too */
	uint32_t reserved;
};

enum ctl_fault_what {
	CTL_FAULT_ADD,	  /* text; the reply's made.handle is the rule's number */
	CTL_FAULT_REMOVE, /* id */
	CTL_FAULT_CLEAR,
};

struct ctl_msg_fault {
	uint32_t what; /* enum ctl_fault_what */
	uint32_t id;
	char text[INJECT_TEXT_MAX];
};

struct ctl_request {
	uint32_t op; /* enum ctl_op */
	uint32_t device;
	uint32_t context;
	uint32_t handle;
	uint64_t token; /* CTL_ADOPT */
	int64_t delta;	/* CTL_USE_PD */
	union {
		struct ctl_reg_mr mr;
		struct ctl_msg_dm dm;
		struct ctl_dmah dmah;
		struct ctl_msg_xrcd xrcd;
		struct ctl_msg_mw mw;
		struct ctl_msg_qp qp;
		struct ctl_msg_capture capture;
		struct ctl_msg_fault fault;
		struct ctl_msg_cm cm;
		uint32_t kind; /* CTL_FREE: enum ctl_kind */
		uint8_t room[480];
	};
};
static_assert(sizeof(struct ctl_request) == 512, "wire layout");

/* The only message on a cmd_fd, with a new socket on which the server answers by a ctl_grant. */
struct ctl_introduce {
	char magic[8];
	uint32_t protocol;
	uint32_t reserved;
};
static_assert(sizeof(struct ctl_introduce) == 16, "wire layout");

struct ctl_grant {
	uint64_t server_id, token;
	uint32_t device, context;
};
static_assert(sizeof(struct ctl_grant) == 24, "wire layout");

struct ctl_device {
	char name[64];			    /* rxe_dm0 */
	uint64_t node_guid, sys_image_guid; /* big-endian */
	uint64_t arena_bytes;		    /* size of the largest DM in an empty arena */
	uint64_t arena_used;
	struct gid gids[RXE_MAX_GIDS];
	uint32_t index, count; /* count: devices of the instance */
	uint32_t max_mtu;      /* bytes: the largest RoCE MTU of the port */
	uint32_t if_index;
	uint32_t arena_pages; /* enum ctl_arena_pages: the setting */
	char if_name[16];
	char arena_kind[24];   /* for messages: "hugetlb 2 MiB", "pages of 4 KiB" */
	char arena_why[64];    /* for messages: reason for this kind of pages */
	uint64_t arena_locked; /* bytes that are locked in memory */
	uint32_t trains, mlx5, slots, rcvbuf;
	uint32_t slots_used, link; /* link: enum ctl_link; the rest is for CTL_LINK_ETHERNET only */
	uint32_t prefix_len;	   /* 0: every address is reached directly */
	struct gid gateway;	   /* zeros: none */
	uint8_t mac[CTL_MAC_LEN];
	uint8_t icrc;		/* CTL_LINK_MEMORY: 1: packets have ICRCs */
	uint8_t raw_privilege;	/* 1: raw packets need CAP_NET_RAW on every link */
	uint8_t stopped;	/* enum ctl_stopped */
	uint32_t link_fallback; /* 1: the kernel cannot steer UDP sockets, so the link is memory */
	struct ctl_profile profile;
};

/* An object, in the replies of CTL_QUERY and CTL_OBJECTS. */
struct ctl_object {
	uint32_t handle, kind; /* enum ctl_kind */
	uint32_t context, pd;
	/* DM: addr is the offset in the arena. XRCD: addr is the inode (0: none), len its device,
	 * key the domain's number, the same for all who opened it. MW: addr is the place of its
	 * binding in the slot's table. QP: key is its number (0: it ended with its process), addr
	 * its XRC domain. */
	uint64_t addr, len, iova;
	uint32_t key, rights, mr_kind, dm;
	uint32_t dmah, umem, refs, slot;
	int32_t pid; /* owner process of plain memory; context: its first user; 0: none */
	uint32_t users;
	struct ctl_dmah hints;
};
static_assert(sizeof(struct ctl_object) == 96, "wire layout");

#define CTL_PAGE_OBJECTS 10

struct ctl_msg_page {
	uint32_t count;
	uint32_t next; /* 0: no more */
	struct ctl_object object[CTL_PAGE_OBJECTS];
};

#define CTL_HELD_BY_FAULTS  1u
#define CTL_HELD_BY_CAPTURE 2u
struct ctl_msg_status {
	uint64_t uptime_ns;
	int32_t pid;
	uint32_t devices, programs, persistent, linger_s;
	uint32_t held; /* CTL_HELD_*: what keeps the server without programs */
	char version[32];
	char instance[CTL_NAME_MAX + 8];
};

#define CTL_SYSFS_PATH_MAX 96
struct ctl_msg_sysfs {
	char path[CTL_SYSFS_PATH_MAX]; /* the folder that stands for / */
};

struct ctl_msg_findings {
	uint32_t count; /* areas that the server keeps */
};

struct ctl_msg_opened {
	uint32_t handle, device;
	uint64_t token;
};

struct ctl_msg_attached {
	uint64_t shared_bytes, arena_bytes;
	uint32_t slot, link; /* enum ctl_link */
};

struct ctl_msg_met {
	uint32_t epoch; /* of the slot's rings */
};

struct ctl_msg_made {
	/* key of CTL_OPEN_QP: the epoch of the slot that has the QP; of CTL_FREE of a QP: the
	 * handles that remain. */
	uint32_t handle, key;
	uint64_t offset; /* DM: in the arena; MW: place of its binding */
};

struct ctl_reply {
	uint32_t op;
	int32_t status; /* 0 or a negative errno */
	union {
		struct ctl_device device;
		struct ctl_msg_attached attached;
		struct ctl_msg_opened opened;
		struct ctl_msg_made made;
		struct ctl_msg_met met;
		struct ctl_object object;
		struct ctl_msg_page page;
		struct ctl_msg_status info;
		struct ctl_msg_sysfs sysfs;
		struct ctl_msg_findings findings;
		struct ctl_msg_cm_reply cm;
		struct ctl_cm_page cm_page;
		struct ctl_cm_failures cm_failures;
		uint8_t room[1016];
	};
};
static_assert(sizeof(struct ctl_reply) == 1024, "wire layout");

/* What a server offers, the libraries must have. */
#define CTL_LEFT_OUT                                                                               \
	((RXE_RAW_SUPPORTED ? 0u : 1u << 31) | (RXE_PERSISTENCE_SUPPORTED ? 0u : 1u << 30))

#define CTL_LAYOUT                                                                                 \
	((uint32_t)(sizeof(struct ctl_shared) ^ sizeof(struct ctl_slot) << 8 ^                     \
		    sizeof(struct ctl_device) << 20) ^                                             \
	 CTL_LEFT_OUT)

#endif
