/* SPDX-License-Identifier: MIT */
/* The port of a device on an interface follows the interface: the port is DOWN while the interface
 * is down, lacks a carrier or does not exist, and programs get the events of an adapter whose cable
 * is pulled. */
#ifndef RXE_DM_SERVER_CARRIER_H
#define RXE_DM_SERVER_CARRIER_H

struct device;

/* Watches the interface. Best effort: without notifications from the kernel the port stays as it
 * is. */
void carrier_open(struct device *device);
void carrier_close(struct device *device);

#endif
