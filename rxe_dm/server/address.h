/* SPDX-License-Identifier: MIT */
/* The address of a device, which no other device of the host has, and the link that serves it. */
#ifndef RXE_DM_SERVER_ADDRESS_H
#define RXE_DM_SERVER_ADDRESS_H

struct ctl_settings;
struct device;

/* 0, or a negative errno that has been explained on the log. */
int address_open(struct device *device, const struct ctl_settings *settings);
void address_close(struct device *device);

#endif
