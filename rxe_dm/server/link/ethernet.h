/* SPDX-License-Identifier: MIT */
/* The link of a device on an interface: packet sockets for each process, which only the server may
 * open (CAP_NET_RAW). Failures are explained on the log. */
#ifndef RXE_DM_SERVER_ETHERNET_H
#define RXE_DM_SERVER_ETHERNET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/settings.h"
#include "net/link/ethernet/ethernet.h"
#include "net/wire/gid.h"
#include "rxe_dm/server/loop.h"

struct device;
struct link;

/* Its own link, of slot 0, answers ARP and neighbor discovery. */
struct device_ethernet {
	struct link *link;
	int rx_fd, tx_fd;
	struct loop_source carrier; /* the kernel's reports on interfaces */
	bool no_carrier;
	uint8_t mac[FRAME_MAC_LEN];
	uint32_t prefix_len;
	struct gid gateway;
};

int ethernet_device_open(struct device *device, const struct ctl_settings *settings);
void ethernet_device_close(struct device *device);
/* Opens a pair of sockets for a process. The caller closes them. */
int ethernet_device_sockets(struct device *device, uint32_t slot, int *ret_rx_fd, int *ret_tx_fd);
/* As ethernet_device_sockets(), with a link on the pair, for the server itself. */
int ethernet_device_link(struct device *device, uint32_t slot, struct link **ret, int *ret_rx_fd,
			 int *ret_tx_fd);
/* The port follows the interface. It is DOWN while the interface is down, lacks a carrier or does
 * not exist, and programs get the events of a pulled cable. Best effort: without reports of the
 * kernel the port does not change. */
void carrier_open(struct device *device);
void carrier_close(struct device *device);

#endif
