/* SPDX-License-Identifier: MIT */
/* Included first by every file that tests/mutation rewrites. Each source has a copy of its own, so
 * that neither archives nor the exported symbols of a library change. MUTANT=N chooses a mutant,
 * MUTANT_REACH=FILE marks each mutant that runs. */
#ifndef MUTATION_SWITCH_H
#define MUTATION_SWITCH_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The bytes of the file that MUTANT_REACH names: one for each mutant. */
#define MUTANT_REACH_BYTES 65536

static volatile int mutant_chosen = -1;
static volatile unsigned char *mutant_reach;

__attribute__((constructor(101), unused)) static void mutant_read_environment(void)
{
	const char *chosen = getenv("MUTANT"), *reach = getenv("MUTANT_REACH");
	if (chosen)
		mutant_chosen = atoi(chosen);
	const int fd = reach ? open(reach, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *map = mmap(NULL, MUTANT_REACH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	mutant_reach = map == MAP_FAILED ? NULL : map;
	close(fd);
}

/* 1 if this mutant is the chosen one, else 0. */
__attribute__((unused)) static inline int MUTANT(int number)
{
	if (__builtin_expect(mutant_reach != NULL, 0))
		mutant_reach[number] = 1;
	return number == mutant_chosen;
}

#endif
