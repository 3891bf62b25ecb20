/* SPDX-License-Identifier: MIT */
/* What the examples have in common: a reliable connection between two processes that have a socket
 * to each other. */
#ifndef EXAMPLES_RC_H
#define EXAMPLES_RC_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct rc {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

/* What the other side must know. */
struct rc_card {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
};

/* Say what failed and why, and end. */
_Noreturn void die(const char *what);

struct ibv_context *rc_open_device(void);
/* A queue pair on this domain. */
void rc_open(struct rc *rc, struct ibv_pd *pd);
void rc_close(struct rc *rc);
/* Deallocates the domain, and closes its device. */
void rc_close_device(struct ibv_pd *pd);
/* Swap cards over the socket and connect; rkey and addr name what the other side may reach. */
struct rc_card rc_connect(struct rc *rc, int sock, uint32_t rkey, uint64_t addr);
/* A queue pair that talks to itself. */
void rc_connect_to_itself(struct rc *rc);
/* Post one request and wait until it is done. */
void rc_run(struct rc *rc, struct ibv_send_wr *wr);

/* The other side, in a process of its own: a socket to it. */
int rc_beside(void (*other)(int sock));
void rc_join(int sock);
void rc_meet(int sock);
void rc_give_fd(int sock, int fd);
int rc_take_fd(int sock);
void rc_tell(int sock, const void *bytes, size_t len);
void rc_hear(int sock, void *bytes, size_t len);

#endif
