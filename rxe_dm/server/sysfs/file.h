/* SPDX-License-Identifier: MIT */
/* Files in a folder of the server's own. Paths are relative to the folder. */
#ifndef RXE_DM_SERVER_SYSFS_FILE_H
#define RXE_DM_SERVER_SYSFS_FILE_H

#include <stdbool.h>

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

#endif
