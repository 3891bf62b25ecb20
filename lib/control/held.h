/* SPDX-License-Identifier: MIT */
/* What a process holds of the server: attachments (slot, descriptors, mappings) and contexts. Under
 * client->lock and with an open connection (ctl_connected_locked()) except where stated. */
#ifndef RXE_CONTROL_HELD_H
#define RXE_CONTROL_HELD_H

#include <stdint.h>

struct ctl_client;

/* Gets a slot on the device and maps it, into client->attached[device]. 0 or a negative errno. */
int ctl_held_attach(struct ctl_client *client, uint32_t device);
/* Gives the slot back if the connection is this process's own; unmaps and closes in any case. */
void ctl_held_detach(struct ctl_client *client, uint32_t device);
/* In a child of fork() that has connected: joins all contexts and devices again, with the same
 * numbers and addresses. */
int ctl_held_rejoin(struct ctl_client *client);
/* In a child of fork(): closes the parent's sockets and keeps their numbers in use. System calls
 * only. Needs no connection. */
void ctl_held_forget(struct ctl_client *client);
/* On disconnect: unmaps and closes everything. Needs neither lock nor connection. */
void ctl_held_release(struct ctl_client *client);

#endif
