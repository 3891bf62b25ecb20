/* SPDX-License-Identifier: MIT */
/* A device without a server: its shared memory is the test's, its engine does nothing. */
#ifndef TESTS_DEVICE_FIXTURE_H
#define TESTS_DEVICE_FIXTURE_H

#include <stdint.h>

#include "lib/verbs/device.h"

/* The device of a process in this slot. */
struct vb_device *device_new(uint32_t slot);
void device_free(struct vb_device *dev);

#endif
