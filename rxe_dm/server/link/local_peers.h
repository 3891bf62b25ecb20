/* SPDX-License-Identifier: MIT */
/* Decides which devices of this host may send to ours: on one host the addresses of a packet prove
 * nothing.
 *
 * A server listens on \0rxe_dm/4791/ADDRESS for each of its devices (address.c). Servers of one
 * user find each other there and exchange the address and the ports that their devices send from;
 * the kernel reserves the ports for that user while the server lives. The connection stays open as
 * long as the exchange is valid. --allow-users admits the servers of other users. Credentials of
 * the connection expose a process that binds such a name without right. */
#ifndef RXE_DM_SERVER_LOCAL_PEERS_H
#define RXE_DM_SERVER_LOCAL_PEERS_H

#include "net/wire/gid.h"
#include "rxe_dm/server/loop.h"

struct ctl_name;
struct device;
struct instance;
struct local_peer;

struct local_peers {
	struct loop loop; /* separate, so that a start waits for answers only */
	struct loop_source source;
	struct local_peer *list;
	uint32_t count;
};

/* \0rxe_dm/4791/ADDRESS, which the owner of the address listens on. */
void local_peers_name(struct ctl_name *ret, const struct gid *gid);
/* A negative errno: no event loop. */
int local_peers_init(struct instance *instance);
void local_peers_fini(struct instance *instance);
/* Admits only the device's own processes, and begins to answer greetings. 0 or a negative errno. */
int local_peers_open(struct device *device);
void local_peers_close(struct device *device);
/* Greets running servers, and waits up to 200 ms for answers: programs can then send at once. */
void local_peers_greet(struct instance *instance);

#endif
