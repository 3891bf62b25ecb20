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
#include "net/link/ethernet/filter.h"
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

int veth_open_slot(struct device *device, uint32_t slot, int *ret_rx_fd, int *ret_tx_fd)
{
	struct ethernet_filter filter = {
		.ifname = device->if_name,
		.gid = device->gid,
		.slot = slot,
		.slots = device->slots,
		.log = log_failure,
	};

	memcpy(filter.mac, device->veth.mac, sizeof(filter.mac));
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
	const struct device_veth *veth = &device->veth;
	struct ethernet_cfg cfg = {
		.ifname = device->if_name,
		.gid = device->gid,
		.prefix_len = veth->prefix_len,
		.gateway = veth->gateway,
		.slot = slot,
		.answers = slot == 0,
		.log = log_link,
	};
	int rc = ethernet_port_sockets(&cfg.port, rx_fd, tx_fd);

	if (rc)
		return rc;
	memcpy(cfg.mac, veth->mac, sizeof(cfg.mac));
	rc = ethernet_open(ret, &cfg);
	if (rc)
		cfg.port->close(cfg.port);
	return rc;
}

int veth_open_link(struct device *device, uint32_t slot, struct link **ret, int *ret_rx_fd,
		   int *ret_tx_fd)
{
	int rc = veth_open_slot(device, slot, ret_rx_fd, ret_tx_fd);

	return rc ? rc : open_link(device, slot, *ret_rx_fd, *ret_tx_fd, ret);
}

static uint32_t granted(int fd)
{
	int bytes = 0;
	socklen_t len = sizeof(bytes);

	(void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len);
	return bytes > 0 ? (uint32_t)bytes : 0;
}

int veth_open(struct device *device, const struct ctl_settings *settings)
{
	struct device_veth *veth = &device->veth;
	int rc = check_address(device);

	if (rc)
		return rc;
	ethernet_make_mac(veth->mac, &device->gid, device->if_name);
	veth->prefix_len = settings->prefix_len[device->index];
	veth->gateway = settings->gateway;
	rc = veth_open_slot(device, 0, &veth->rx_fd, &veth->tx_fd);
	if (rc == 0)
		rc = check_mtu(device);
	if (rc)
		return rc;
	device->rcvbuf = granted(veth->rx_fd);
	rc = open_link(device, 0, veth->rx_fd, veth->tx_fd, &veth->link);
	if (rc)
		ctl_log(CTL_LOG_ERROR, "no link on %s: %s", device->if_name, strerror(-rc));
	return rc;
}

void veth_close(struct device *device)
{
	struct device_veth *veth = &device->veth;

	link_close(veth->link);
	veth->link = NULL;
	if (veth->rx_fd >= 0)
		(void)close(veth->rx_fd);
	if (veth->tx_fd >= 0)
		(void)close(veth->tx_fd);
	veth->rx_fd = veth->tx_fd = -1;
}
