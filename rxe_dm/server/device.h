/* SPDX-License-Identifier: MIT */
/* One device of an instance, made of its parts. Each part has one owner, the file that its header
 * names: other files report to the owner what happened, and read. */
#ifndef RXE_DM_SERVER_DEVICE_H
#define RXE_DM_SERVER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/shared.h"
#include "rxe_dm/server/arena.h"
#include "rxe_dm/server/capture.h"
#include "rxe_dm/server/cm/gsi.h"
#include "rxe_dm/server/fault.h"
#include "rxe_dm/server/key.h"
#include "rxe_dm/server/link/address.h"
#include "rxe_dm/server/object.h"
#include "rxe_dm/server/range.h"
#include "rxe_dm/server/slot.h"
#include "rxe_dm/server/xrc.h"

struct context;
struct instance;
struct time_wait;

/* EUI-64, big-endian. */
struct device_guids {
	uint64_t node;
	uint64_t system_image; /* the devices of an instance share it */
};

/* The arena of device memory, and which of its ranges are taken. */
struct device_memory {
	struct arena arena;
	struct range_map ranges;
};

/* What processes name by key and by handle. grace says when none of them can still use an entry. */
struct device_tables {
	struct grace grace;
	struct keys keys;
	struct objects objects;
};

struct device {
	struct instance *instance;
	uint32_t index;
	struct device_guids guids;
	struct device_link link;
	struct device_slots slots;
	struct device_memory memory;
	struct ctl_shared *shared; /* NULL: not yet */
	int shared_fd;
	struct device_tables tables;
	struct context *contexts;
	struct device_xrc xrc;
	struct device_captures captures;
	struct device_faults faults;
	struct device_gsi gsi;
	struct time_wait *time_wait; /* NULL: no slot is in TIME_WAIT */
};

/* 0, or a negative errno that has been explained on the log. */
int device_init(struct device *ret, struct instance *instance, uint32_t index);
void device_fini(struct device *device);
#endif
