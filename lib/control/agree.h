/* SPDX-License-Identifier: MIT */
/* Telling people that their settings came too late. */
#ifndef RXE_CONTROL_AGREE_H
#define RXE_CONTROL_AGREE_H

#include <stddef.h>

struct ctl_device;

/* One line on the log when a variable asks for something that the running instance is not. */
void ctl_agree(const char *instance, const struct ctl_device *device, size_t n);

#endif
