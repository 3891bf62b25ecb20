// SPDX-License-Identifier: MIT
/* Finds a libibverbs that is linked into a program by the names of two environment variables, which
 * every release reads and which stay in a stripped file. */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "rxe_dm/command/run.h"

#define DEFAULT_PATH "/bin:/usr/bin" /* as execvp has it */

static bool holds(const uint8_t *at, size_t len, const char *word)
{
	return memmem(at, len, word, strlen(word) + 1) != NULL;
}

bool verbs_linked(const uint8_t *image, size_t len)
{
	bool fork_safe = false, warnings = false;
	Elf64_Ehdr header;
	Elf64_Phdr part;

	if (len < sizeof(header))
		return false;
	memcpy(&header, image, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(part) ||
	    header.e_phoff > len || header.e_phnum > (len - header.e_phoff) / sizeof(part))
		return false;
	/* What is loaded, without debugging information, which may be large. */
	for (uint32_t i = 0; i < header.e_phnum; i++) {
		memcpy(&part, image + header.e_phoff + i * sizeof(part), sizeof(part));
		if (part.p_type != PT_LOAD || part.p_flags & PF_W || part.p_offset > len ||
		    part.p_filesz > len - part.p_offset)
			continue;
		fork_safe |= holds(image + part.p_offset, part.p_filesz, "RDMAV_FORK_SAFE");
		warnings |= holds(image + part.p_offset, part.p_filesz, "IBV_SHOW_WARNINGS");
	}
	return fork_safe && warnings;
}

static bool find_program(const char *name, char ret[static PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
	for (path = path ? path : DEFAULT_PATH;; path++) {
		size_t len = strcspn(path, ":");

		if (snprintf(ret, PATH_MAX, "%.*s%s%s", (int)len, path, len ? "/" : "", name) <
			    PATH_MAX &&
		    access(ret, X_OK) == 0)
			return true;
		path += len;
		if (!*path)
			return false;
	}
}

/* The dynamic linker looks neither at LD_LIBRARY_PATH nor at LD_PRELOAD then. */
static bool gains_rights(const struct stat *st)
{
	return (st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
	       (st->st_mode & S_ISGID && st->st_gid != getegid());
}

static bool file_has_verbs(const char *path, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *image = MAP_FAILED;
	bool has = false;

	if (fd >= 0) {
		image = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
		close(fd);
	}
	if (image != MAP_FAILED) {
		has = verbs_linked((const uint8_t *)image, len);
		munmap(image, len);
	}
	return has;
}

/* The words that are looked for are in our own file. */
static bool is_our_own(const struct stat *st)
{
	struct stat own;

	return stat("/proc/self/exe", &own) == 0 && own.st_dev == st->st_dev &&
	       own.st_ino == st->st_ino;
}

void verbs_linked_warn(const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (!find_program(name, path) || stat(path, &st) || !S_ISREG(st.st_mode) || is_our_own(&st))
		return;
	if (gains_rights(&st))
		ctl_log(CTL_LOG_WARNING,
			"%s is setuid or setgid, so it does not load this libibverbs.so.1 and "
			"finds no device: run it as its owner",
			path);
	else if (file_has_verbs(path, (size_t)st.st_size))
		ctl_log(CTL_LOG_WARNING,
			"%s has a libibverbs of its own linked into it, so it finds no device: "
			"link it with the shared libibverbs.so.1",
			path);
}
