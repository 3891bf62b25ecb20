/* SPDX-License-Identifier: MIT */
/* What a killed server leaves to the next one of its instance: the settings it ran with, above all its addresses, which
 * peers know. A line for each in a file under /dev/shm, which a server that ends in order removes. Best effort: without
 * /dev/shm nothing is kept, and what has another owner is not read. */
#ifndef RXE_DM_SERVER_FORMER_H
#define RXE_DM_SERVER_FORMER_H

#include <stdbool.h>

#include "lib/control/settings.h"
#include "rxe_dm/server/instance.h"

/* The server is up: note what it is. */
void former_keep(const struct instance *instance);
/* It ends in order, or a person ends the instance: the next one begins with defaults. */
void former_forget(const char *instance);
/* Settings of a killed server take the place of defaults. settings has what the environment gives, which wins: of an
 * environment that says anything about addresses or links nothing is mixed with former ones. True: there was a killed
 * server; *ret_stays: it was to stay until 'rxe_dm stop'. */
bool former_take(struct ctl_settings *settings, bool *ret_stays);

#endif
