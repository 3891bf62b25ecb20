/* SPDX-License-Identifier: MIT */
/* Connections that begin as TCP's and become rsockets after fork(2): RDMAV_FORK_SAFE. */
#ifndef RXE_RSOCKET_PRELOAD_FORK_H
#define RXE_RSOCKET_PRELOAD_FORK_H

#include <stdbool.h>

/* What a TCP socket of the program will be. */
enum preload_role {
	ROLE_NONE, /* TCP */
	ROLE_SOCKET,
	ROLE_LISTENER,
	ROLE_ACCEPTED, /* an rsocket with the next call that sends or receives */
	ROLE_CONNECTED,
};

bool preload_is_fork_safe(void);
void preload_set_role(int fd, enum preload_role role);
enum preload_role preload_role(int fd);
/* Makes an accepted or connected one an rsocket. */
void preload_convert(int fd);

#endif
