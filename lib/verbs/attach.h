/* SPDX-License-Identifier: MIT */
/* The first open context attaches the process to a device (slot, mappings, engine), the last
 * detaches it. */
#ifndef RXE_VERBS_ATTACH_H
#define RXE_VERBS_ATTACH_H

struct vb_device;

/* A context opens: attaches the process to the device, unless it is. 0 or a negative
 * errno. */
int vb_device_attach(struct vb_device *dev);
void vb_device_detach(struct vb_device *dev);
/* The program makes an object, or asks for events: starts the background thread, unless it runs. A
 * program that only asks about the device needs none: the kernel may take long to end a thread.
 * Returns a positive errno, or 0. */
int vb_device_start_thread(struct vb_device *dev);
/* Attaches a child of fork() again if its parent was attached. */
void vb_device_follow_fork(struct vb_device *dev);

#endif
