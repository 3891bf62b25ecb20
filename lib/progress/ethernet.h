/* SPDX-License-Identifier: MIT */
/* A device's link when it is on an Ethernet interface: by packet sockets that the device server opened for this process. */
#ifndef RXE_PROGRESS_ETHERNET_H
#define RXE_PROGRESS_ETHERNET_H

struct dm_device;
struct link_veth;

/* 0 or a negative errno. Closed by link_veth_close; the sockets stay the attachment's. */
int dm_wire_veth_open(const struct dm_device *dev, struct link_veth **ret);

#endif
