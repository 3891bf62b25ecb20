/* SPDX-License-Identifier: MIT */
/* The process's rxe_dm devices, and the connection to their server. A listed device is never freed,
 * so an ibv_device pointer stays valid until the process ends. */
#ifndef RXE_VERBS_DEVICE_LIST_H
#define RXE_VERBS_DEVICE_LIST_H

#include <stdint.h>

#include "lib/abi/newer.h"

struct ctl_client;
struct vb_device;

/* The device of a program's pointer, or NULL: not a device of this library. */
struct vb_device *vb_device_of(const struct ibv_device *device);
/* The connection to the server, for a context that is imported; connects unless there is a
 * connection. 0 or a negative errno. */
int vb_device_connect(struct ctl_client **ret);
/* The device of this index on that connection, or NULL. */
struct vb_device *vb_device_at(const struct ctl_client *client, uint32_t index);
/* In the child after fork(): makes fresh locks, and drops the engines of the parent. */
void vb_devices_forked(void);

#endif
