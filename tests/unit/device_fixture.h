/* SPDX-License-Identifier: MIT */
/* A device without a server: its shared memory is the test's. */
#ifndef TESTS_DEVICE_FIXTURE_H
#define TESTS_DEVICE_FIXTURE_H

#include <stdint.h>

#include "lib/verbs/device.h"

/* The device of a process in this slot. Its engine does nothing. */
struct vb_device *device_new(uint32_t slot);
void device_free(struct vb_device *dev);

/* For progress_start(): a device over UDP, whose engine does not run yet. */
struct vb_device *device_new_on_udp(uint32_t slot, const struct progress_owner *owner);
void device_free_on_udp(struct vb_device *dev);

#endif
