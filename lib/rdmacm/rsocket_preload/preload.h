/* SPDX-License-Identifier: MIT */
/* librspreload.so: programs that know only TCP sockets use stream rsockets instead. Loaded by
 * LD_PRELOAD, it stands before libc with the calls on sockets and descriptors.
 *
 * socket() makes an rsocket for SOCK_STREAM of AF_INET and AF_INET6; all else is libc's. An
 * rsocket's descriptor is a number of the kernel's, so it needs no translation; the table (table.c)
 * tells which numbers are rsockets, and which were made by dup() from which. Calls on other numbers
 * go to libc.
 *
 * librdmacm and libibverbs also call libc through this library: their descriptors are never in
 * the table. A child of fork() can only close the rsockets of its parent. */
#ifndef RXE_RSOCKET_PRELOAD_H
#define RXE_RSOCKET_PRELOAD_H

#include <dlfcn.h>
#include <stdbool.h>

/* libc's function of this name. */
#define REAL(name)                                                                                 \
	({                                                                                         \
		static __typeof__(&name) real_##name;                                              \
		if (!real_##name)                                                                  \
			real_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                  \
		real_##name;                                                                       \
	})

#define PRELOAD_FDS 65536 /* numbers of descriptors that the tables hold */

/* Enters the descriptor of a new rsocket. */
void preload_add(int fd);
/* fd becomes another number of the rsocket. */
void preload_add_duplicate(int fd, int rsocket);
/* The number of the rsocket that fd is, or was duplicated from; -1: not an rsocket. */
int preload_find(int fd);
/* Forgets fd. Returns its rsocket when fd was the last number of it, else -1. */
int preload_remove(int fd);
/* Between the two, this thread's sockets are libc's: librdmacm makes some. */
void preload_enter(void);
void preload_leave(void);
bool preload_is_inside(void);

/* Whether fd is an epoll set that has had rsockets. */
bool preload_is_epoll(int fd);
int preload_close_epoll(int fd);
/* fd is a new rsocket, in no set. */
void preload_new_in_epoll(int fd);
/* fd was an rsocket and is a socket of TCP now. Adds fd to the kernel's part of its set. */
void preload_epoll_as_tcp(int fd);

/* Connections that begin as TCP's and become rsockets after fork(2): RDMAV_FORK_SAFE. What a TCP
 * socket of the program will be. */
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
/* As preload_find(), for calls that send or receive: makes an accepted or connected TCP socket an
 * rsocket first. */
int preload_find_stream(int fd);

#endif
