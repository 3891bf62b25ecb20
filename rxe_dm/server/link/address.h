/* SPDX-License-Identifier: MIT */
/* The address of a device, which no other device of the host has, and the link that serves it. */
#ifndef RXE_DM_SERVER_ADDRESS_H
#define RXE_DM_SERVER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/settings.h"
#include "net/link/udp/udp.h"
#include "net/wire/gid.h"
#include "rxe_dm/server/link/ethernet.h"
#include "rxe_dm/server/listener.h"
#include "rxe_dm/server/memory.h"

struct device;

/* What one kind of link alone has is in the part of that kind. */
struct device_link {
	struct gid gid;
	enum ctl_link kind;
	bool is_fallback;     /* memory, because UDP cannot be */
	struct listener lock; /* \0rxe_dm/4791/ADDRESS (local_peers.h); fd -1: closed */
	uint32_t slots;	      /* that packets are steered to */
	uint32_t rcvbuf, max_mtu;
	uint32_t if_index;
	char if_name[16];
	struct udp_group udp;
	struct device_ethernet ethernet;
	struct device_memory_link memory;
};

/* 0, or a negative errno that has been explained on the log. */
int address_open(struct device *device, const struct ctl_settings *settings);
void address_close(struct device *device);

#endif
