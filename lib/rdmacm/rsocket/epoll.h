/* SPDX-License-Identifier: MIT */
/* epoll over rsockets (repoll_create, repoll_ctl, repoll_wait). A set is an epoll descriptor of the
 * kernel, which keeps the descriptors that are no rsockets, and a list of rsockets here. Any epoll
 * descriptor becomes a set with the first rsocket that is added. The kernel knows nothing of the
 * rsockets: only repoll_wait() reports them.
 *
 * A wait looks at each rsocket of the set, so its cost grows with their number. */
#ifndef RXE_RSOCKET_EPOLL_H
#define RXE_RSOCKET_EPOLL_H

/* Closes a set. 0 or a positive errno: EBADF, there is none with this descriptor. */
int rs_epoll_close(int fd);

#endif
