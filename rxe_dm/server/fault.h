/* SPDX-License-Identifier: MIT */
/* Fault rules: the server keeps them in shared memory, where the device's processes read them. */
#ifndef RXE_DM_SERVER_FAULT_H
#define RXE_DM_SERVER_FAULT_H

#include <stdint.h>

struct device;

/* Adds the rules of a file, all or none. 0, or a negative errno, explained on the log. */
int faults_load(struct device *device, const char *path);
/* The slot's process exits: adds its counts to the sums. */
void faults_retire(struct device *device, uint32_t slot);

#endif
