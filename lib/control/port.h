/* SPDX-License-Identifier: MIT */
/* What every device and port of ours is, as verbs and sysfs both report it. */
#ifndef RXE_CONTROL_PORT_H
#define RXE_CONTROL_PORT_H

#define CTL_PHYS_UP   5
#define CTL_PHYS_DOWN 3
#define CTL_PKEY      0xffff

#endif
