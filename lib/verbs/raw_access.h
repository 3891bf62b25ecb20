/* SPDX-License-Identifier: MIT */
/* The right to send and receive raw packets. */
#ifndef RXE_VERBS_RAW_ACCESS_H
#define RXE_VERBS_RAW_ACCESS_H

struct vb_device;

/* Before the first raw queue pair or work queue. 0, EPERM (CAP_NET_RAW is missing, where it is
 * needed; the log says so), or another errno. On an interface this opens the raw port, which stays
 * open until the process detaches from the device. */
int vb_raw_access(struct vb_device *dev);

#endif
