/* SPDX-License-Identifier: MIT */
/* A device on a veth, or any Ethernet interface. Only the server has the right to open packet
 * sockets: it opens a pair with a filter for each process's slot, and keeps a pair for itself, on
 * which it answers ARP and neighbor discovery and counts packets to no process.
 *
 * A process needs no privilege to use its pair, and its frames are not checked: every user of the
 * device may send any frame on the interface, so the server's user decides who that is.
 *
 * The port follows the interface. The kernel reports every change of every interface; each report
 * only triggers a check of the device's interface. An interface that was deleted and created again
 * under the same name is a different one: packet sockets do not follow it. */
#include "rxe_dm/server/link/ethernet.h"

#include <assert.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/container_of.h"
#include "lib/control/log.h"
#include "net/link/ethernet/ethernet.h"
#include "net/link/udp/address.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/fault.h"
#include "rxe_dm/server/instance.h"

#define MESSAGES 64 /* read in one turn */

static void log_failure(void *arg, const char *line)
{
	(void)arg;
	ctl_log(CTL_LOG_ERROR, "%s", line);
}

static void log_link(void *arg, const char *line)
{
	(void)arg;
	ctl_log(CTL_LOG_WARNING, "%s", line);
}

#ifndef RXE_DM_PCAP
int ethernet_open_sockets(const struct ethernet_filter *filter, int *ret_rx_fd, int *ret_tx_fd)
{
	(void)filter;
	*ret_rx_fd = *ret_tx_fd = -1;
	ctl_log(CTL_LOG_ERROR, "this rxe_dm was built without libpcap, which --link ethernet "
			       "needs: install libpcap-dev and build it with -Dpcap=enabled");
	return -EOPNOTSUPP;
}
#endif

int ethernet_device_sockets(struct device *device, uint32_t slot, int *ret_rx_fd, int *ret_tx_fd)
{
	struct ethernet_filter filter = {
		.ifname = device->link.if_name,
		.gid = device->link.gid,
		.slot = slot,
		.slots = device->link.slots,
		.log.write = log_failure,
	};

	memcpy(filter.mac, device->link.ethernet.mac, sizeof(filter.mac));
	return ethernet_open_sockets(&filter, ret_rx_fd, ret_tx_fd);
}

/* The kernel would answer for an address of its own too, with another MAC. */
static int check_address(const struct device *device)
{
	char text[CTL_GID_STR_MAX];

	if (udp_addr_ifindex(&device->link.gid) == 0)
		return 0;
	ctl_log(CTL_LOG_ERROR,
		"%s is an address of this machine's kernel already: a device on %s needs one of "
		"its own; choose a free one of that network with --address or RXE_DM_ADDRESS",
		ctl_gid_str(&device->link.gid, text), device->link.if_name);
	return -EADDRINUSE;
}

static int check_mtu(struct device *device)
{
	device->link.max_mtu = ethernet_max_mtu(device->link.if_name, &device->link.gid);
	if (device->link.max_mtu)
		return 0;
	ctl_log(CTL_LOG_ERROR,
		"the MTU of %s is too small for RoCE packets: 'ip link set %s mtu 1500'",
		device->link.if_name, device->link.if_name);
	return -EMSGSIZE;
}

static int open_link(const struct device *device, uint32_t slot, int rx_fd, int tx_fd,
		     struct link **ret)
{
	const struct device_ethernet *ethernet = &device->link.ethernet;
	struct ethernet_cfg cfg = {
		.ifname = device->link.if_name,
		.gid = device->link.gid,
		.prefix_len = ethernet->prefix_len,
		.gateway = ethernet->gateway,
		.slot = slot,
		.answers = slot == 0,
		.rx_fd = rx_fd,
		.tx_fd = tx_fd,
		.log.write = log_link,
	};

	memcpy(cfg.mac, ethernet->mac, sizeof(cfg.mac));
	return ethernet_open(ret, &cfg);
}

int ethernet_device_link(struct device *device, uint32_t slot, struct link **ret, int *ret_rx_fd,
			 int *ret_tx_fd)
{
	int rc = ethernet_device_sockets(device, slot, ret_rx_fd, ret_tx_fd);

	return rc ? rc : open_link(device, slot, *ret_rx_fd, *ret_tx_fd, ret);
}

static uint32_t granted(int fd)
{
	int bytes = 0;
	socklen_t len = sizeof(bytes);

	(void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len);
	return bytes > 0 ? (uint32_t)bytes : 0;
}

int ethernet_device_open(struct device *device, const struct ctl_settings *settings)
{
	struct device_ethernet *ethernet = &device->link.ethernet;
	int rc = check_address(device);

	if (rc)
		return rc;
	ethernet_make_mac(ethernet->mac, &device->link.gid, device->link.if_name);
	ethernet->prefix_len = settings->prefix_len[device->index];
	ethernet->gateway = settings->gateway;
	rc = ethernet_device_sockets(device, 0, &ethernet->rx_fd, &ethernet->tx_fd);
	if (rc == 0)
		rc = check_mtu(device);
	if (rc)
		return rc;
	device->link.rcvbuf = granted(ethernet->rx_fd);
	rc = open_link(device, 0, ethernet->rx_fd, ethernet->tx_fd, &ethernet->link);
	if (rc)
		ctl_log(CTL_LOG_ERROR, "no link on %s: %s", device->link.if_name, strerror(-rc));
	return rc;
}

void ethernet_device_close(struct device *device)
{
	struct device_ethernet *ethernet = &device->link.ethernet;

	link_close(ethernet->link);
	ethernet->link = NULL;
	if (ethernet->rx_fd >= 0)
		(void)close(ethernet->rx_fd);
	if (ethernet->tx_fd >= 0)
		(void)close(ethernet->tx_fd);
	ethernet->rx_fd = ethernet->tx_fd = -1;
}

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

/* fault_run() changes the port accordingly, in the same turn of the server. */
static void update_carrier(struct device *device)
{
	device->link.ethernet.no_carrier =
		!is_there(device->link.ethernet.carrier.fd, device->link.if_index);
}

static void interfaces_changed(struct loop_source *source, uint32_t events)
{
	char bytes[4096];

	(void)events;
	for (int i = 0; i < MESSAGES; i++) {
		/* ENOBUFS ends the loop too: the check below replaces lost reports. */
		if (recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
			break;
	}
	update_carrier(container_of(source, struct device, link.ethernet.carrier));
}

void carrier_open(struct device *device)
{
	struct sockaddr_nl here = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	assert(device->link.kind == CTL_LINK_ETHERNET && device->link.ethernet.carrier.fd < 0);
	if (fd < 0)
		return;
	device->link.ethernet.carrier =
		(struct loop_source){ .fd = fd, .ready = interfaces_changed };
	if (bind(fd, (struct sockaddr *)&here, sizeof(here)) ||
	    loop_add(&device->instance->loop, &device->link.ethernet.carrier, EPOLLIN)) {
		device->link.ethernet.carrier.fd = -1;
		close(fd);
		return;
	}
	update_carrier(device);
}

void carrier_close(struct device *device)
{
	loop_close(&device->instance->loop, &device->link.ethernet.carrier);
}
