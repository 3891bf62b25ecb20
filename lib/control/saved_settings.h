/* SPDX-License-Identifier: MIT */
/* The settings of a running server, in a file under /dev/shm. A server that ends in order removes
 * the file; a killed server leaves it, and the next server of the instance takes over its settings,
 * above all its addresses, which peers know. Best effort: without /dev/shm nothing is saved, and a
 * file of another user is not read. */
#ifndef RXE_CONTROL_SAVED_SETTINGS_H
#define RXE_CONTROL_SAVED_SETTINGS_H

#include <stdbool.h>

#include "lib/control/settings.h"

/* Saves the settings of a server that is up. stays: the server runs until 'rxe_dm stop'. */
void ctl_saved_write(const struct ctl_settings *settings, bool stays);
/* The instance ends in order: the next server begins with defaults. */
void ctl_saved_remove(const char *instance);
/* Replaces defaults in settings by those of a killed server. Values from the environment win; if it
 * sets an address, a link or the number of devices, nothing is taken. True: such settings were
 * found; *ret_stays: that server was to run until 'rxe_dm stop'. */
bool ctl_saved_read(struct ctl_settings *settings, bool *ret_stays);

#endif
