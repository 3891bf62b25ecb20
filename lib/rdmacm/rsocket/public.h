/* SPDX-License-Identifier: MIT */
/* The public calls of this room, exported whatever -fvisibility says. */
#ifndef RXE_RSOCKET_PUBLIC_H
#define RXE_RSOCKET_PUBLIC_H

#pragma GCC visibility push(default)
#include <rdma/rsocket.h>

/* Declared by newer releases of rdma-core. */
struct epoll_event;
int repoll_create(int flags);
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);
#pragma GCC visibility pop

#endif
