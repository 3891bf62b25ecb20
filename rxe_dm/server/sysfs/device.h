/* SPDX-License-Identifier: MIT */
/* The files of one device. */
#ifndef RXE_DM_SERVER_SYSFS_DEVICE_H
#define RXE_DM_SERVER_SYSFS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct device;

/* What the files of a device hold. */
#define SYSFS_MAX_COUNTS 64
struct sysfs_device {
	uint32_t generation, port_state;
	uint64_t count[SYSFS_MAX_COUNTS];
};
void sysfs_make_device(int root, bool *ok, const struct device *device, struct sysfs_device *ret);
void sysfs_update_state(int root, const struct device *device, struct sysfs_device *held);
void sysfs_update_counters(int root, struct device *device, struct sysfs_device *held);

#endif
