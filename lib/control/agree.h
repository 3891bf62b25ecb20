/* SPDX-License-Identifier: MIT */
/* A notice for settings that differ from those of the running server. */
#ifndef RXE_CONTROL_AGREE_H
#define RXE_CONTROL_AGREE_H

#include <stddef.h>

struct ctl_device;

/* Logs one line if a variable of the environment differs from what the running instance has. */
void ctl_agree(const char *instance, const struct ctl_device *device, size_t n);

#endif
