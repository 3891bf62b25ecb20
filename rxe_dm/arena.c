// SPDX-License-Identifier: MIT
/* Where the arena's pages come from: the huge page pool, else ordinary memory, with huge pages where shared memory may have
 * them, locked up to RLIMIT_MEMLOCK.
 *
 * The pool is asked by mmap without MAP_NORESERVE: that reserves, so that no first touch can fail. memfd_create and ftruncate
 * succeed with an empty pool, too, and with MAP_NORESERVE the first touch would be a SIGBUS. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rxe_dm/arena.h"

/* Nobody may cut the file under us: that would be a SIGBUS here. */
static int open_memory(struct arena *arena, unsigned int flags)
{
	struct stat st;

	arena->fd = memfd_create("rxe_dm arena", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
	if (arena->fd < 0)
		return -errno;
	if (fstat(arena->fd, &st) == 0 && st.st_blksize > 0)
		arena->page = (uint64_t)st.st_blksize;
	arena->mapped = (arena->bytes + arena->page - 1) / arena->page * arena->page;
	if (ftruncate(arena->fd, (off_t)arena->mapped) == 0 &&
	    fcntl(arena->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) {
		void *base =
			mmap(NULL, arena->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd, 0);

		if (base != MAP_FAILED) {
			arena->base = (uint8_t *)base;
			return 0;
		}
	}
	close(arena->fd);
	return errno ? -errno : -ENOMEM;
}

/* "always within_size [advise] never ...": does the chosen word let madvise have huge pages? */
static bool huge_shmem_allowed(void)
{
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
	char line[128] = "";
	bool allowed;

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	allowed = strstr(line, "[advise]") || strstr(line, "[always]") ||
		  strstr(line, "[within_size]") || strstr(line, "[force]");
	return allowed;
}

/* Locked on first use, not now: a start must not cost the whole arena. */
static void lock_some(struct arena *arena)
{
	struct rlimit limit = { 0 };
	uint64_t len = arena->mapped;

	if (mlock2(arena->base, len, MLOCK_ONFAULT) == 0) {
		arena->locked = arena->bytes;
		return;
	}
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur < len)
		len = limit.rlim_cur / arena->page * arena->page;
	/* Other devices of this server may have had part of the limit. */
	while (len >= arena->page && mlock2(arena->base, len, MLOCK_ONFAULT))
		len = len / 2 / arena->page * arena->page;
	arena->locked = len >= arena->page ? len : 0;
}

static void describe(struct arena *arena, const char *what)
{
	bool mib = arena->page >= 1u << 20;

	snprintf(arena->kind, sizeof(arena->kind), "%s%u %s", what,
		 (unsigned int)(arena->page >> (mib ? 20 : 10)) % 10000u, mib ? "MiB" : "KiB");
}

int arena_init(struct arena *ret, uint64_t bytes)
{
	struct arena arena = { .bytes = bytes, .page = (uint64_t)sysconf(_SC_PAGESIZE) };
	int rc;

	if (open_memory(&arena, MFD_HUGETLB) == 0) {
		describe(&arena, "hugetlb ");
		arena.locked = arena.bytes; /* the pool never swaps */
		*ret = arena;
		return 0;
	}
	arena.page = (uint64_t)sysconf(_SC_PAGESIZE);
	errno = 0;
	rc = open_memory(&arena, 0);
	if (rc)
		return rc;
	if (madvise(arena.base, arena.mapped, MADV_HUGEPAGE) == 0 && huge_shmem_allowed())
		snprintf(arena.kind, sizeof(arena.kind), "transparent huge pages");
	else
		describe(&arena, "pages of ");
	lock_some(&arena);
	*ret = arena;
	return 0;
}

/* A hole where the pages were; the next touch makes new ones. Part of a huge page that somebody holds is only cleared, and the
 * hugetlb pool promises nothing: so look whether there is a hole. */
bool arena_renew(const struct arena *arena, uint64_t offset, uint64_t len)
{
	off_t data;

	if (fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		      (off_t)len))
		return false;
	data = lseek(arena->fd, (off_t)offset, SEEK_DATA);
	return data < 0 ? errno == ENXIO : (uint64_t)data >= offset + len;
}

void arena_fini(struct arena *arena)
{
	if (!arena->base)
		return;
	munmap(arena->base, arena->mapped);
	close(arena->fd);
	arena->base = NULL;
}
