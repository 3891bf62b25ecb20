/* SPDX-License-Identifier: MIT */
/* A short life of a small world: everything in it is chosen by one seed. */
#ifndef RXE_SIM_LIFE_H
#define RXE_SIM_LIFE_H

#include "tests/sim/oracle.h"

/* A network, hosts and pairs of QPs on them. */
void life_begin(struct oracle *o);
/* Requests, receives, accidents; then the network heals, everybody gets what is missing, and all must come to an end. */
void life_run(struct oracle *o);
/* Packets that a peer with ill will might send to the party's QP: of every operation, near the PSNs in use, with keys good and
 * bad. */
void life_forge(struct oracle *o, struct party *party);

#endif
