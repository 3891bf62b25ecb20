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

struct device;
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

/* sysfs_file.c: paths are relative to the folder. */
/* Makes the folder, or empties one of this user. Returns a descriptor, or a negative errno. The
 * folder is locked until the descriptor is closed. */
int sysfs_make_root(const char *path);
/* Removes folders of this user that no server holds locked: what killed servers left. The names of
 * such folders begin with prefix. */
void sysfs_remove_dead(const char *folder, const char *prefix);
/* Also closes the descriptor. */
void sysfs_remove_root(int root, const char *path);
/* Each returns false where an earlier call did or this one fails: *ok collects them. */
void sysfs_folder(int root, bool *ok, const char *path);
void sysfs_link(int root, bool *ok, const char *path, const char *to);
/* Writes in place, so that an open file shows the new value. text has no newline at its end. */
void sysfs_write(int root, bool *ok, const char *path, const char *text);
/* An empty file that stands for a device node. */
void sysfs_node(int root, bool *ok, const char *path);

/* sysfs_device.c */
/* What the files of a device hold. */
#define SYSFS_MAX_COUNTS 64
struct sysfs_device {
	uint32_t generation, port_state;
	uint64_t count[SYSFS_MAX_COUNTS];
};
void sysfs_make_device(int root, bool *ok, const struct device *device, struct sysfs_device *ret);
void sysfs_update_state(int root, const struct device *device, struct sysfs_device *held);
void sysfs_update_counters(int root, struct device *device, struct sysfs_device *held);

#endif
