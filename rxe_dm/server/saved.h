/* SPDX-License-Identifier: MIT */
/* Saves what a running instance is, for the server after a kill (lib/control/saved_settings.h). */
#ifndef RXE_DM_SERVER_SAVED_H
#define RXE_DM_SERVER_SAVED_H

struct instance;

void saved_write(const struct instance *instance);

#endif
