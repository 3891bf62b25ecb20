// SPDX-License-Identifier: MIT
/* getdents64(2), for which musl and older glibc have no function. */
#include "lib/control/folder.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An entry of getdents64(2). */
struct entry {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

void ctl_folder_open(struct ctl_folder *ret, const char *path)
{
	ret->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret->next = ret->len = 0;
}

const char *ctl_folder_next(struct ctl_folder *folder)
{
	const struct entry *entry;

	if (folder->fd < 0)
		return NULL;
	if (folder->next >= folder->len) {
		folder->next = 0;
		folder->len = (int)syscall(SYS_getdents64, folder->fd, folder->entries,
					   sizeof(folder->entries));
	}
	if (folder->len <= 0)
		return NULL;
	entry = (const struct entry *)(const void *)(folder->entries + folder->next);
	folder->next += entry->len;
	return entry->name;
}

void ctl_folder_close(struct ctl_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	folder->fd = -1;
}
