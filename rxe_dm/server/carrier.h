/* SPDX-License-Identifier: MIT */
/* The port of a device on an interface follows the interface: it is DOWN while the interface is
 * down, lacks a carrier or does not exist, and programs get the events of a pulled cable. */
#ifndef RXE_DM_SERVER_CARRIER_H
#define RXE_DM_SERVER_CARRIER_H

struct device;

/* Watches the interface. Best effort: without reports of the kernel the port does not change. */
void carrier_open(struct device *device);
void carrier_close(struct device *device);

#endif
