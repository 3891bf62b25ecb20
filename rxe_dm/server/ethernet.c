/* SPDX-License-Identifier: MIT */
/* A device on a veth, or any Ethernet interface. Only the server has the right to open packet
 * sockets: it opens a pair with a filter for each process's slot, and keeps a pair for itself, on
 * which it answers ARP and neighbor discovery and counts packets to no process.
 *
 * A process needs no privilege to use its pair, and its frames are not checked: every user of the
 * device may send any frame on the interface, so the server's user decides who that is. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "net/link/ethernet/ethernet.h"
#include "net/link/udp/address.h"
#include "rxe_dm/server/device.h"

static void log_failure(void *arg, const char *line)
{
	(void)arg;
	ctl_log(CTL_LOG_ERROR, "%s", line);
}

static void log_link(void *arg, const char *line)
{
	(void)arg;
	ctl_log(CTL_LOG_NOTICE, "%s", line);
}

int ethernet_device_sockets(struct device *device, uint32_t slot, int *ret_rx_fd, int *ret_tx_fd)
{
	struct ethernet_filter filter = {
		.ifname = device->if_name,
		.gid = device->gid,
		.slot = slot,
		.slots = device->slots,
		.log.write = log_failure,
	};

	memcpy(filter.mac, device->ethernet.mac, sizeof(filter.mac));
	return ethernet_open_sockets(&filter, ret_rx_fd, ret_tx_fd);
}

/* The kernel would answer for an address of its own too, with another MAC. */
static int check_address(const struct device *device)
{
	char text[CTL_GID_STR_MAX];

	if (udp_addr_ifindex(&device->gid) == 0)
		return 0;
	ctl_log(CTL_LOG_ERROR,
		"%s is an address of this machine's kernel already: a device on %s needs one of "
		"its own; choose a free one of that network with --address or RXE_DM_ADDRESS",
		ctl_gid_str(&device->gid, text), device->if_name);
	return -EADDRINUSE;
}

static int check_mtu(struct device *device)
{
	device->max_mtu = ethernet_max_mtu(device->if_name, &device->gid);
	if (device->max_mtu)
		return 0;
	ctl_log(CTL_LOG_ERROR,
		"the MTU of %s is too small for RoCE packets: 'ip link set %s mtu 1500'",
		device->if_name, device->if_name);
	return -EMSGSIZE;
}

static int open_link(const struct device *device, uint32_t slot, int rx_fd, int tx_fd,
		     struct link **ret)
{
	const struct device_ethernet *ethernet = &device->ethernet;
	struct ethernet_cfg cfg = {
		.ifname = device->if_name,
		.gid = device->gid,
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
	struct device_ethernet *ethernet = &device->ethernet;
	int rc = check_address(device);

	if (rc)
		return rc;
	ethernet_make_mac(ethernet->mac, &device->gid, device->if_name);
	ethernet->prefix_len = settings->prefix_len[device->index];
	ethernet->gateway = settings->gateway;
	rc = ethernet_device_sockets(device, 0, &ethernet->rx_fd, &ethernet->tx_fd);
	if (rc == 0)
		rc = check_mtu(device);
	if (rc)
		return rc;
	device->rcvbuf = granted(ethernet->rx_fd);
	rc = open_link(device, 0, ethernet->rx_fd, ethernet->tx_fd, &ethernet->link);
	if (rc)
		ctl_log(CTL_LOG_ERROR, "no link on %s: %s", device->if_name, strerror(-rc));
	return rc;
}

void ethernet_device_close(struct device *device)
{
	struct device_ethernet *ethernet = &device->ethernet;

	link_close(ethernet->link);
	ethernet->link = NULL;
	if (ethernet->rx_fd >= 0)
		(void)close(ethernet->rx_fd);
	if (ethernet->tx_fd >= 0)
		(void)close(ethernet->tx_fd);
	ethernet->rx_fd = ethernet->tx_fd = -1;
}
