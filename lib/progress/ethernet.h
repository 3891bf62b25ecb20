/* SPDX-License-Identifier: MIT */
/* A device's link when it is on an Ethernet interface: by packet sockets that the device server opened for this process. */
#ifndef RXE_PROGRESS_ETHERNET_H
#define RXE_PROGRESS_ETHERNET_H

struct progress;
struct link;

/* 0 or a negative errno. Closed by link_close; the sockets stay the attachment's. */
int vb_wire_veth_open(const struct progress *progress, struct link **ret);

#endif
