/* SPDX-License-Identifier: MIT */
/* The table of descriptors of rsockets. A descriptor is a number that the kernel chose, held by a
 * duplicate of the event channel's or, for datagrams, of the UDP socket's. */
#ifndef RXE_RSOCKET_TABLE_H
#define RXE_RSOCKET_TABLE_H

struct rsocket;

/* The rsocket of a descriptor, with a reference for the caller, locked. NULL, and errno EBADF. */
struct rsocket *rs_get_locked(int fd);
/* Ends what rs_get_locked() began. */
void rs_put_locked(struct rsocket *rs);
/* As rs_get_locked(), without the lock. errno stays. */
struct rsocket *rs_find(int fd);

/* Gives an rsocket its descriptor: the table holds a reference. 0 or a positive errno. */
int rs_table_add(struct rsocket *rs);
/* Takes the rsocket out: the reference is the caller's. NULL, and errno EBADF. */
struct rsocket *rs_table_remove(int fd);

#endif
