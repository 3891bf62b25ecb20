/* SPDX-License-Identifier: MIT */
/* What every device and port of ours is, as verbs and sysfs both report it. */
#ifndef RXE_CONTROL_PORT_H
#define RXE_CONTROL_PORT_H

#define CTL_PORT_WIDTH	2   /* 4X */
#define CTL_PORT_SPEED	8   /* 10 Gb/s a lane: 40 together, which is what loopback carries */
#define CTL_PORT_100MBS 400 /* the same in units of 100 Mb/s */
#define CTL_PORT_RATE	"40 Gb/sec (4X FDR10)" /* the same in Linux's words */
#define CTL_PHYS_UP	5
#define CTL_PHYS_DOWN	3
#define CTL_PKEY	0xffff

#endif
