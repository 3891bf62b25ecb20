/* SPDX-License-Identifier: MIT */
/* The public calls of this room, exported whatever -fvisibility says. */
#ifndef RXE_RSOCKET_PUBLIC_H
#define RXE_RSOCKET_PUBLIC_H

#pragma GCC visibility push(default)
#include <rdma/rsocket.h>
#pragma GCC visibility pop

#endif
