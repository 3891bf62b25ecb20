/* SPDX-License-Identifier: MIT */
/* The devices as files, laid out as Linux's sysfs lays out adapters, for programs that look there
 * (`rxe_dm run`). The server makes them on request, in a folder of its own in /dev/shm that stands
 * for /:
 *
 *   sys/class/infiniband, sys/class/infiniband_verbs, sys/class/infiniband_mad
 *   dev/infiniband	plain files under the names of device nodes
 *   bin/rdma		a link to the rxe_dm command
 *   host			sys and dev once more, with the host's adapters (--host-devices)
 *   refresh		a socket: a connection brings the counters up to date, and is then closed
 *
 * States change in the files as they change. Counters are also brought up to date each second while
 * a program has asked for the files and runs. The files go with the server. */
#ifndef RXE_DM_SERVER_SYSFS_H
#define RXE_DM_SERVER_SYSFS_H

#include <stdbool.h>
#include <stdint.h>

#define SYSFS_MAX_USERS 32u /* programs that are watched; the server may end under further ones */

struct instance;

/* Makes the files where a server was killed, or a program that has the folder starts this one.
 * Removes those that killed servers of other instances left. */
void sysfs_resume(struct instance *instance);
void sysfs_close(struct instance *instance);
/* True: a program that has asked for the files runs. */
bool sysfs_in_use(const struct instance *instance);
/* Brings the files up to date as far as that is due. Returns when it is due again;
 * UINT64_MAX: not by time. */
uint64_t sysfs_run(struct instance *instance, uint64_t now_ns);

#endif
