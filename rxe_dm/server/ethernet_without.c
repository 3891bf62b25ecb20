/* SPDX-License-Identifier: MIT */
/* A build without libpcap refuses devices on an interface, and says why. */
#include <errno.h>

#include "lib/control/log.h"
#include "rxe_dm/server/device.h"

int ethernet_device_open(struct device *device, const struct ctl_settings *settings)
{
	(void)device;
	(void)settings;
	ctl_log(CTL_LOG_ERROR, "this rxe_dm was built without libpcap, which --link ethernet "
			       "needs: install libpcap-dev and build it with -Dpcap=enabled");
	return -EOPNOTSUPP;
}

void ethernet_device_close(struct device *device)
{
	(void)device;
}

int ethernet_device_sockets(struct device *device, uint32_t slot, int *ret_rx_fd, int *ret_tx_fd)
{
	(void)device;
	(void)slot;
	(void)ret_rx_fd;
	(void)ret_tx_fd;
	return -EOPNOTSUPP;
}

int ethernet_device_link(struct device *device, uint32_t slot, struct link **ret, int *ret_rx_fd,
			 int *ret_tx_fd)
{
	(void)ret;
	return ethernet_device_sockets(device, slot, ret_rx_fd, ret_tx_fd);
}
