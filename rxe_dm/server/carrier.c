// SPDX-License-Identifier: MIT
/* The kernel reports every change of every interface; each report only triggers a check of the
 * device's interface. An interface that was deleted and created again under the same name is a
 * different one: packet sockets do not follow it. */
#include "rxe_dm/server/device.h"

#include <assert.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/link/clock.h"
#include "rxe_dm/server/instance.h"

#define MESSAGES 64 /* read in one turn */

/* Asks the driver: IFF_RUNNING follows a change after up to a second, too late for a script that
 * has just set the interface up. */
static bool has_carrier(int fd, struct ifreq *req)
{
	struct ethtool_value value = { .cmd = ETHTOOL_GLINK };

	req->ifr_data = (char *)&value;
	return ioctl(fd, SIOCETHTOOL, req) ||
	       value.data; /* a driver without the call counts as up */
}

static bool is_there(int fd, uint32_t if_index)
{
	struct ifreq req = { 0 };

	if (!if_indextoname(if_index, req.ifr_name) || ioctl(fd, SIOCGIFFLAGS, &req))
		return false;
	return (req.ifr_flags & IFF_UP) && has_carrier(fd, &req);
}

static void update(struct device *device)
{
	device->no_carrier = !is_there(device->carrier.fd, device->if_index);
	(void)fault_run(device, clock_now_ns());
}

static void changed(struct loop_source *source, uint32_t events)
{
	char bytes[4096];

	(void)events;
	for (int i = 0; i < MESSAGES; i++) {
		/* ENOBUFS ends the loop too: the check below replaces lost reports. */
		if (recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
			break;
	}
	update(container_of(source, struct device, carrier));
}

void carrier_open(struct device *device)
{
	struct sockaddr_nl here = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	assert(device->link == CTL_LINK_ETHERNET && device->carrier.fd < 0);
	if (fd < 0)
		return;
	device->carrier = (struct loop_source){ .fd = fd, .ready = changed };
	if (bind(fd, (struct sockaddr *)&here, sizeof(here)) ||
	    loop_add(&device->instance->loop, &device->carrier, EPOLLIN)) {
		device->carrier.fd = -1;
		close(fd);
		return;
	}
	update(device);
}

void carrier_close(struct device *device)
{
	if (device->carrier.fd < 0)
		return;
	loop_del(&device->instance->loop, &device->carrier);
	close(device->carrier.fd);
	device->carrier.fd = -1;
}
