/* SPDX-License-Identifier: MIT */
/* Which devices of this host may send to ours, where a packet's addresses prove nothing.
 *
 * A server listens on \0rxe_dm/4791/ADDRESS for each of its devices (address.c). Servers of one user find each other there: each
 * tells the other the address and the ports that its device sends from, which the kernel keeps to their user while the server lives.
 * The connection stays open for as long as that holds. --allow-users admits the servers of other users; who squats such a name is
 * known by its credentials. */
#ifndef RXE_DM_SERVER_LOCAL_PEERS_H
#define RXE_DM_SERVER_LOCAL_PEERS_H

#include <sys/socket.h>

#include "net/wire/gid.h"
#include "rxe_dm/server/loop.h"

struct device;
struct instance;
struct local_peer;
struct sockaddr_un;

struct local_peers {
	struct loop loop; /* of its own, so that a start can wait for answers and nothing else */
	struct loop_source source;
	struct local_peer *list;
	uint32_t count;
	uint32_t awaited; /* those that were greeted and have not answered */
};

/* The name \0rxe_dm/4791/ADDRESS, which the owner of the address listens on. Returns the length of *ret. */
socklen_t local_peers_name(struct sockaddr_un *ret, const struct gid *gid);
/* A negative errno: no event loop. */
int local_peers_init(struct instance *instance);
void local_peers_fini(struct instance *instance);
/* Accept packets of the device's own processes only, and answer whoever comes. 0 or a negative errno. */
int local_peers_open(struct device *device);
void local_peers_close(struct device *device);
/* Greet the servers that are there, and wait a moment for their answers: programs may send at once. */
void local_peers_greet(struct instance *instance);

#endif
