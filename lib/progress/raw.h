/* SPDX-License-Identifier: MIT */
/* The raw port of a device on an interface, in this process (net/link/ethernet/raw_port.h): bare
 * trains of the engine go out by it, and its frames go to the engine. Its frames pass neither fault
 * rules nor captures. Under the engine lock. */
#ifndef RXE_PROGRESS_RAW_H
#define RXE_PROGRESS_RAW_H

#include <stdbool.h>
#include <stdint.h>

struct progress;
struct wire_train;

/* Opens the port unless it is open; the link's wait descriptor then tells of its frames, too. 0,
 * -EPERM or another negative errno. */
int raw_open(struct progress *progress);
void raw_close(struct progress *progress);
/* False when the program closed the port's descriptor. */
bool raw_has_descriptors(const struct progress *progress);
/* False: the port takes the train later. */
bool raw_send(struct progress *progress, const struct wire_train *train);
/* Returns whether frames arrived. */
bool raw_receive(struct progress *progress, uint64_t now_ns);

#endif
