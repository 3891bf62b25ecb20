/* SPDX-License-Identifier: MIT */
/* The service thread: accepts connections and goes on connecting while the program does something
 * else. It starts with the first rsocket that needs it, and then stays. */
#ifndef RXE_RSOCKET_SERVICE_H
#define RXE_RSOCKET_SERVICE_H

struct rsocket;

/* Watches an rsocket while it listens or connects. Called without its lock. 0 or a positive
 * errno. */
int rs_service_add(struct rsocket *rs);

#endif
