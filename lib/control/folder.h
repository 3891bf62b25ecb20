/* SPDX-License-Identifier: MIT */
/* The names in a folder, read without the memory of a stream: for code that runs under the engine
 * lock. */
#ifndef RXE_CONTROL_FOLDER_H
#define RXE_CONTROL_FOLDER_H

#include <stdint.h>

struct ctl_folder {
	int fd; /* -1: the folder is not readable */
	int next, len;
	_Alignas(uint64_t) char entries[2048];
};

void ctl_folder_open(struct ctl_folder *ret, const char *path);
/* The next name, valid until the next call; NULL: no more. "." and ".." are among them. */
const char *ctl_folder_next(struct ctl_folder *folder);
void ctl_folder_close(struct ctl_folder *folder);

#endif
