/* SPDX-License-Identifier: MIT */
/* A device on an interface has that one's state: down, without a carrier or gone, the port is DOWN, which programs are told by
 * events, as an adapter tells of its cable. */
#ifndef RXE_DM_SERVER_CARRIER_H
#define RXE_DM_SERVER_CARRIER_H

struct device;

/* Watch the interface. Best effort: where the kernel does not tell, the port stays as it is. */
void carrier_open(struct device *device);
void carrier_close(struct device *device);

#endif
