/* SPDX-License-Identifier: MIT */
/* One random life of a small fixture: a seed chooses everything in it. */
#ifndef RXE_SIM_LIFE_H
#define RXE_SIM_LIFE_H

#include "tests/sim/oracle.h"

/* Creates a network, hosts and pairs of QPs. */
void life_begin(struct oracle *o);
/* Requests, receives and accidents; then the network heals, missing receives are posted, and
 * everything must finish. */
void life_run(struct oracle *o);
/* Packets that a hostile peer might send to the party's QP: every operation, PSNs near those in
 * use, valid and invalid keys. */
void life_forge(struct oracle *o, struct party *party);

#endif
