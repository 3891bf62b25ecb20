// SPDX-License-Identifier: MIT
/* Pages of the arena: from the pool of huge pages where enough are free, else ordinary memory with
 * transparent huge pages where shared memory may have them.
 *
 * mmap without MAP_NORESERVE reserves pages of the pool, so no first access can fail. memfd_create
 * and ftruncate succeed even with an empty pool; with MAP_NORESERVE the first access would raise
 * SIGBUS. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "rxe_dm/server/arena.h"
#include "rxe_dm/server/limit.h"

/* The seals keep clients from truncating the file, which would raise SIGBUS in the server. */
static int open_memory(struct arena *arena, unsigned int flags)
{
	struct stat st;
	int rc;

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
	rc = errno ? -errno : -ENOMEM;
	close(arena->fd);
	return rc;
}

/* The file reads "always within_size [advise] never ...", with the current setting in brackets. */
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

/* MLOCK_ONFAULT locks pages at their first use: a start does not allocate the whole arena. */
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
	/* Other devices of this server may have used part of the limit. */
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

static void read_pool(struct arena_pool *ret)
{
	unsigned long long kib = 0, idle = 0, reserved = 0;
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];

	*ret = (struct arena_pool){ 0 };
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "HugePages_Free: %llu", &idle);
		sscanf(line, "HugePages_Rsvd: %llu", &reserved);
		sscanf(line, "Hugepagesize: %llu", &kib);
	}
	fclose(f);
	ret->page_bytes = kib << 10;
	ret->free = idle > reserved ? idle - reserved : 0;
}

static uint64_t pages_for(const struct arena_pool *pool, uint64_t bytes)
{
	return bytes / pool->page_bytes + (bytes % pool->page_bytes ? 1 : 0);
}

bool arena_spares_pool(const struct arena_pool *pool, uint64_t bytes, char *ret_why,
		       size_t why_bytes)
{
	uint64_t wanted = pool->page_bytes ? pages_for(pool, bytes) : 0;
	bool spares = wanted && wanted <= pool->free / 2;

	if (pool->free == 0)
		snprintf(ret_why, why_bytes, "no huge page is free");
	else if (wanted > pool->free)
		snprintf(ret_why, why_bytes, "%llu huge pages are needed, %llu are free",
			 (unsigned long long)wanted, (unsigned long long)pool->free);
	else
		snprintf(ret_why, why_bytes, "%llu of %llu free huge pages%s",
			 (unsigned long long)wanted, (unsigned long long)pool->free,
			 spares ? "" : " are too many to take");
	return spares;
}

static bool open_huge(struct arena *arena)
{
	if (open_memory(arena, MFD_HUGETLB))
		return false;
	describe(arena, "hugetlb ");
	arena->locked = arena->bytes; /* the pool never swaps */
	return true;
}

static int open_small(struct arena *arena)
{
	int rc;

	arena->page = (uint64_t)sysconf(_SC_PAGESIZE);
	errno = 0;
	rc = open_memory(arena, 0);
	if (rc == -ENOMEM)
		ctl_log(CTL_LOG_ERROR,
			"no memory for an arena of %llu KiB: %s: choose a smaller one with "
			"--arena or RXE_DM_ARENA",
			(unsigned long long)(arena->bytes >> 10), strerror(ENOMEM));
	else if (rc)
		limit_explain(rc, "no memory for an arena of %llu KiB",
			      (unsigned long long)(arena->bytes >> 10));
	if (rc)
		return rc;
	if (madvise(arena->base, arena->mapped, MADV_HUGEPAGE) == 0 && huge_shmem_allowed())
		snprintf(arena->kind, sizeof(arena->kind), "transparent huge pages");
	else
		describe(arena, "pages of ");
	lock_some(arena);
	return 0;
}

static int demand_huge(struct arena *arena, const struct arena_pool *pool)
{
	if (open_huge(arena))
		return 0;
	ctl_log(CTL_LOG_ERROR,
		"an arena of %llu KiB does not fit into the %llu huge pages of %llu KiB that are "
		"free (--arena-pages huge): reserve more (sysctl vm.nr_hugepages), or choose auto "
		"or small",
		(unsigned long long)(arena->bytes >> 10), (unsigned long long)pool->free,
		(unsigned long long)(pool->page_bytes >> 10));
	return -ENOMEM;
}

int arena_init(struct arena *ret, uint64_t bytes, enum ctl_arena_pages pages)
{
	struct arena arena = { .bytes = bytes, .page = (uint64_t)sysconf(_SC_PAGESIZE) };
	struct arena_pool pool;
	int rc = -EINVAL;

	read_pool(&pool);
	switch (pages) {
	case CTL_PAGES_AUTO:
		rc = arena_spares_pool(&pool, bytes, arena.why, sizeof(arena.why)) &&
				     open_huge(&arena)
			     ? 0
			     : open_small(&arena);
		break;
	case CTL_PAGES_HUGE:
		snprintf(arena.why, sizeof(arena.why), "huge pages requested");
		rc = demand_huge(&arena, &pool);
		break;
	case CTL_PAGES_SMALL:
		snprintf(arena.why, sizeof(arena.why), "small pages requested");
		rc = open_small(&arena);
		break;
	}
	if (rc == 0)
		*ret = arena;
	return rc;
}

/* Punches a hole; the next access allocates new pages. The kernel only clears part of a huge page
 * that is in use elsewhere, and hugetlb pools promise nothing: so the result is checked. */
bool arena_renew(const struct arena *arena, uint64_t offset, uint64_t len)
{
	off_t data;

	assert(offset <= arena->mapped && len <= arena->mapped - offset);
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
