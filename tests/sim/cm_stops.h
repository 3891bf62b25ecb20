/* SPDX-License-Identifier: MIT */
/* Programs that are stopped in a simulation of the connection manager, for up to an hour, one at a
 * time, in every fourth seed. Retries last shorter there, and most connections stay on one host. */
#ifndef TESTS_SIM_CM_STOPS_H
#define TESTS_SIM_CM_STOPS_H

#include "tests/sim/cm_programs.h"

void cm_stops_choose(struct cm_sim *s);
/* The host to which a program of another host connects; to: the seed's choice. */
struct cm_host *cm_stops_peer(struct cm_sim *s, struct cm_host *from, struct cm_host *to);
/* Stops a program, unless one is stopped. */
void cm_stops_disturb(struct cm_sim *s);
/* True: the end's program is stopped, and does nothing. */
bool cm_stops_hold(const struct cm_sim *s, const struct cm_end *end);
/* The stopped program runs again, or was killed meanwhile. */
void cm_stops_resume(struct cm_sim *s);

#endif
