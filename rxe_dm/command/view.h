/* SPDX-License-Identifier: MIT */
/* The state of an instance for rxe_dm show, read over the control socket and from shared memory. */
#ifndef RXE_DM_COMMAND_VIEW_H
#define RXE_DM_COMMAND_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/control/protocol.h"

struct ctl_client;
struct json_t;

struct view_device {
	struct ctl_device info;
	const struct ctl_shared *shared; /* mapped to read; processes go on writing */
	struct ctl_object *objects;
	size_t num_objects;
};

struct view {
	struct ctl_msg_status status;
	uint32_t num_devices;
	struct view_device device[CTL_DEVICE_MAX];
	struct ctl_cm_listed *ids; /* of the connection manager */
	size_t num_ids;
	struct ctl_cm_failure *cm_failures; /* attempts to connect, oldest first */
	size_t num_cm_failures;
};

/* 0 or a negative errno. */
int view_take(struct view *ret, struct ctl_client *client);
void view_drop(struct view *view);

/* The shared memory of a device, mapped to read; the caller unmaps it. */
int view_map_shared(const struct ctl_shared **ret, struct ctl_client *client, uint32_t index);

/* How many objects of a kind a context has (0: of the device). */
uint32_t view_count(const struct view_device *device, enum ctl_kind kind, uint32_t context);
/* A copy of a memory window's binding, which its process may change meanwhile. key 0: not bound. */
struct view_binding {
	uint32_t key, region, rights, qpn;
	uint64_t iova, len, at;
};
struct view_binding view_binding(const struct view_device *device, const struct ctl_object *mw);
uint32_t view_num_qps(const struct ctl_slot *slot);
const char *view_qp_type(uint32_t type);
const char *view_qp_state(uint32_t state);
const char *view_mr_kind(uint32_t kind);
const char *view_port_state(uint32_t state);
const char *view_link(uint32_t link); /* enum ctl_link */
#define VIEW_MAC_MAX 18
const char *view_mac(const uint8_t mac[static CTL_MAC_LEN], char ret[static VIEW_MAC_MAX]);
/* "local_write remote_read", in a fixed order. */
#define VIEW_RIGHTS_MAX 128
const char *view_rights(uint32_t rights, char ret[static VIEW_RIGHTS_MAX]);

/* A text that grows. What does not fit is cut. */
struct view_text {
	char *at; /* "" at first */
	size_t size, len;
};
__attribute__((format(printf, 2, 3))) void view_add(struct view_text *text, const char *format,
						    ...);
/* Copies up to max bytes of another process's text, without control characters. */
const char *view_plain(char *ret, size_t size, const char *text, size_t max);

/* The place of the oldest fault rule numbered above id, or -1. Places are reused, not numbers. */
int view_next_fault(const struct ctl_shared *shared, uint32_t id);
/* How often the rule fired, in processes that run and in those that have exited. */
uint64_t view_fault_fired(const struct ctl_shared *shared, uint32_t place);

/* Queue pairs that entered error by themselves, oldest first. Returns their number. */
#define VIEW_MAX_FAILURES (CTL_FAILURES_KEPT + RXE_MAX_SLOTS * CTL_FAILURES_OF_SLOT)
size_t view_failures(const struct view_device *device,
		     const struct ctl_failure *ret[static VIEW_MAX_FAILURES]);
const char *view_wc_status(uint32_t status);

/* show_failure.c: one line for each of the last failures; all failures, or those of one QP, with
 * their packets. False: there is none. */
void show_failures(const struct view_device *device, FILE *to);
bool show_packets(const struct view *view, uint32_t qpn, FILE *to);
/* One packet: "> RDMA_WRITE_ONLY psn 17 ..." */
#define VIEW_PACKET_MAX 200
const char *view_packet(const struct tail_packet *packet, char ret[static VIEW_PACKET_MAX]);

/* show_refusal.c: calls that returned errors, and why. */
void show_refusals(const struct view_device *device, FILE *to);
struct json_t *show_json_refusals(const struct view_device *device);

/* show_stopped.c: programs that are stopped now, since when as far as a peer has noticed, and the
 * programs that wait for them. */
struct view_stopped {
	bool is_stopped;
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: no program waits for it */
	uint32_t num_waiting;
	uint32_t waiting[RXE_MAX_SLOTS]; /* their slots */
};
void view_stopped(const struct ctl_shared *shared, uint32_t slot, struct view_stopped *ret);
void show_stopped(const struct view_device *device, FILE *to);
/* Adds "stopped" to a program; where programs wait for it, "stopped_s" and "waiting" as well; where
 * it waits for programs of other instances, "waits_for". */
void show_json_stopped(struct json_t *to, const struct ctl_shared *shared, uint32_t slot);

/* show_cm.c: ids of the connection manager, and attempts to connect that failed. */
#define VIEW_ENDPOINT_MAX 64
const char *view_endpoint(const union ctl_cm_sockaddr *addr, char ret[static VIEW_ENDPOINT_MAX]);
void show_ids(const struct view *view, FILE *to);
void show_cm_failures(const struct view *view, FILE *to);
struct json_t *show_json_ids(const struct view *view);
struct json_t *show_json_cm_failures(const struct view *view);

/* show_table.c, show_json.c */
void show_table(const struct view *view, FILE *to);
int show_json(const struct view *view, FILE *to);
struct json_t *show_json_faults(const struct ctl_shared *shared);

#endif
