/* SPDX-License-Identifier: MIT */
/* The process's devices, and the connection to the server that has them. */
#ifndef RXE_VERBS_DEVICE_H
#define RXE_VERBS_DEVICE_H

#include <stdint.h>

struct ctl_client;
struct vb_device;
struct ibv_device;

/* The one behind this pointer, or NULL: it is not ours. */
struct vb_device *vb_device_of(const struct ibv_device *device);
/* The connection and its device of that index, for a context that came by import; starts nothing new when there is one.
 * 0 or a negative errno. */
int vb_device_connect(struct ctl_client **ret);
struct vb_device *vb_device_at(const struct ctl_client *client, uint32_t index);
/* In the child after fork(): nobody holds our locks, and the engines are gone. */
void vb_devices_forked(void);

#endif
