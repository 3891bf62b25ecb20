/* SPDX-License-Identifier: MIT */
/* The server's part in faults: it keeps the rules of each device in the shared memory, where its processes find them. */
#ifndef RXE_DM_SERVER_FAULT_H
#define RXE_DM_SERVER_FAULT_H

#include <stdint.h>

struct device;

/* Rules from a file, all or none. 0, or a negative errno that has been explained on the log. */
int faults_load(struct device *device, const char *path);
/* What the process of a slot that goes has counted. */
void faults_retire(struct device *device, uint32_t slot);

#endif
