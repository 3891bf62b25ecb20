// SPDX-License-Identifier: MIT
/* The kernel tells of every change of every interface; what it says is only taken as a reason to look at ours. An interface that went
 * and came again under the same name is another one: packet sockets do not follow. */
#include "rxe_dm/server/carrier.h"

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
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"

#define MESSAGES 64 /* a turn */

/* Asked of the driver: IFF_RUNNING follows only after up to a second, and who has just set an interface up may go on. */
static bool has_carrier(int fd, struct ifreq *req)
{
	struct ethtool_value value = { .cmd = ETHTOOL_GLINK };

	req->ifr_data = (char *)&value;
	return ioctl(fd, SIOCETHTOOL, req) || value.data; /* one that cannot say has */
}

static bool is_there(int fd, uint32_t if_index)
{
	struct ifreq req = { 0 };

	if (!if_indextoname(if_index, req.ifr_name) || ioctl(fd, SIOCGIFFLAGS, &req))
		return false;
	return (req.ifr_flags & IFF_UP) && has_carrier(fd, &req);
}

static void look(struct device *device)
{
	device->no_carrier = !is_there(device->carrier.fd, device->if_index);
	(void)fault_device_run(device, clock_now_ns());
}

static void changed(struct loop_source *source, uint32_t events)
{
	char bytes[4096];

	(void)events;
	for (int i = 0; i < MESSAGES; i++) {
		/* ENOBUFS too: something was missed, so look. */
		if (recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
			break;
	}
	look(container_of(source, struct device, carrier));
}

void carrier_open(struct device *device)
{
	struct sockaddr_nl here = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0)
		return;
	device->carrier = (struct loop_source){ .fd = fd, .ready = changed };
	if (bind(fd, (struct sockaddr *)&here, sizeof(here)) ||
	    loop_add(&device->instance->loop, &device->carrier, EPOLLIN)) {
		device->carrier.fd = -1;
		close(fd);
		return;
	}
	look(device);
}

void carrier_close(struct device *device)
{
	if (device->carrier.fd < 0)
		return;
	loop_del(&device->instance->loop, &device->carrier);
	close(device->carrier.fd);
	device->carrier.fd = -1;
}
