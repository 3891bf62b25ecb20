// SPDX-License-Identifier: MIT
/* One word of device memory, and everybody adds to it at once: processes that import it, by queue
 * pairs of their own; others who reach it from another device over the wire; and CPUs. The sum is
 * exact.
 *
 * RXE_TEST_PEER_INSTANCE, RXE_TEST_PEER_ADDRESS: of the other device. CPUs reach the word by
 * ibv_dm_export_dmabuf_fd where the kernel makes a dmabuf; else by the mapping of device memory
 * that every process on the device has, found by what stands in it: no program would do that, but
 * it is the same word. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"

#define IMPORTERS 3
#define REMOTES	  3
#define CPUS	  2
#define TURNS	  1500
#define WORD_AT	  64u
#define DM_BYTES  4096u
#define RIGHTS	  ((unsigned int)FIXTURE_ALL_RIGHTS | IBV_ACCESS_ZERO_BASED)

struct letter {
	uint32_t pd, dm;
	uint8_t mark[32]; /* what the DM begins with */
};

/* What one has added. The wire adds 3s and 7s, CPUs 1s and 11s: what is missing shows whose. */
struct sum {
	uint64_t by_wire, by_cpu;
};

/* To the word after this key: every other one adds, the others compare and swap. */
static uint64_t add_by_wire(struct end *end, uint32_t rkey, uint64_t step)
{
	uint64_t *old = (uint64_t *)(void *)end->memory, seen = 0, sum = 0;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	for (uint32_t turn = 0; turn < TURNS; turn++) {
		bool swap = turn % 2;

		wr = end_wr(end, &sge,
			    swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD, turn, 0,
			    8);
		wr.wr.atomic.remote_addr = WORD_AT;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = swap ? seen : step;
		wr.wr.atomic.swap = seen + step;
		ck_assert_int_eq(ibv_post_send(end->qp, &wr, &bad), 0);
		end_wait_for(end, turn, IBV_WC_SUCCESS);
		if (!swap || *old == seen) /* else another was quicker */
			sum += step;
		seen = swap ? *old : *old + step;
	}
	return sum;
}

/* The arena as this process has it, found by the mark; NULL: it is not there. */
static uint8_t *find_mapping(const uint8_t mark[32])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint8_t *found = NULL;
	char line[512];

	ck_assert_ptr_nonnull(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (!strstr(line, "rxe_dm arena") || sscanf(line, "%lx-%lx rw", &from, &to) != 2)
			continue;
		for (uint8_t *p = (uint8_t *)from; p < (uint8_t *)to && !found; p += 4096)
			found = memcmp(p, mark, 32) == 0 ? p : NULL;
	}
	fclose(maps);
	return found;
}

static uint64_t add_by_cpu(_Atomic uint64_t *word, uint64_t step)
{
	for (uint32_t i = 0; i < TURNS; i++)
		atomic_fetch_add(word, step);
	return step * TURNS;
}

/* Imports the memory and adds to it: over the wire to itself, and in between by its CPU. */
static void import_and_add(int sock)
{
	struct end_cfg cfg = { 0 };
	struct end_address of_a, of_b;
	struct ibv_context *context;
	struct letter letter;
	struct end a, b;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct sum sum;
	uint8_t *map;
	int fd = take_fd(sock);

	ck_assert_int_eq(recv(sock, &letter, sizeof(letter), MSG_WAITALL), sizeof(letter));
	context = ibv_import_device(fd);
	ck_assert_ptr_nonnull(context);
	close(fd);
	cfg.pd = ibv_import_pd(context, letter.pd);
	dm = ibv_import_dm(context, letter.dm);
	ck_assert_ptr_nonnull(cfg.pd);
	ck_assert_ptr_nonnull(dm);
	mr = ibv_reg_dm_mr(cfg.pd, dm, 0, DM_BYTES, RIGHTS);
	ck_assert_ptr_nonnull(mr);
	end_open(&a, context, &cfg);
	end_open(&b, context, &cfg);
	of_a = end_address(&a);
	of_b = end_address(&b);
	end_connect(&a, &of_b);
	end_connect(&b, &of_a);
	map = find_mapping(letter.mark);
	ck_assert_ptr_nonnull(map);
	meet(sock);
	sum.by_cpu = add_by_cpu((_Atomic uint64_t *)(void *)(map + WORD_AT), 1);
	sum.by_wire = add_by_wire(&a, mr->rkey, 3);
	sum.by_cpu += add_by_cpu((_Atomic uint64_t *)(void *)(map + WORD_AT), 1);
	ck_assert_int_eq(send(sock, &sum, sizeof(sum), MSG_NOSIGNAL), sizeof(sum));
	end_close(&b);
	end_close(&a);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ibv_unimport_dm(dm);
	ibv_unimport_pd(cfg.pd);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

static void reach_and_add(int sock)
{
	struct end_address peer;
	struct end end;
	struct sum sum = { 0 };

	ck_assert_ptr_nonnull(getenv("RXE_TEST_PEER_INSTANCE"));
	setenv("RXE_DM_INSTANCE", getenv("RXE_TEST_PEER_INSTANCE"), 1);
	setenv("RXE_DM_ADDRESS", getenv("RXE_TEST_PEER_ADDRESS"), 1);
	end_open(&end, NULL, NULL);
	peer = swap_addresses(sock, &end);
	end_connect(&end, &peer);
	meet(sock);
	sum.by_wire = add_by_wire(&end, peer.rkey, 7);
	ck_assert_int_eq(send(sock, &sum, sizeof(sum), MSG_NOSIGNAL), sizeof(sum));
	end_close(&end);
}

/* The owner's CPUs go on until all others have done. */
struct cpu {
	pthread_t thread;
	_Atomic uint64_t *word;
	uint64_t sum;
};

static _Atomic bool enough;

static void *cpu_adds(void *arg)
{
	struct cpu *cpu = arg;

	while (!atomic_load(&enough)) {
		cpu->sum += add_by_cpu(cpu->word, 11);
		sched_yield();
	}
	return NULL;
}

/* The way that a program would take, if there is one. */
static uint8_t *map_exported(struct ibv_dm *dm, const uint8_t mark[32])
{
	int (*export_fd)(struct ibv_dm *) =
		(int (*)(struct ibv_dm *))dlsym(RTLD_DEFAULT, "ibv_dm_export_dmabuf_fd");
	void *map;
	int fd;

	ck_assert_ptr_nonnull(export_fd);
	errno = 0;
	fd = export_fd(dm);
	if (fd < 0) {
		ck_assert_int_eq(errno, EOPNOTSUPP);
		return find_mapping(mark);
	}
	map = mmap(NULL, DM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	return map;
}

struct helper {
	pid_t pid;
	int sock;
	struct end end; /* of a remote one */
};

static uint64_t collect(struct helper *helper, const char *who)
{
	struct sum sum;

	ck_assert_int_eq(recv(helper->sock, &sum, sizeof(sum), MSG_WAITALL), sizeof(sum));
	printf("%s: %llu by the wire, %llu by its CPU\n", who, (unsigned long long)sum.by_wire,
	       (unsigned long long)sum.by_cpu);
	return sum.by_wire + sum.by_cpu;
}

struct owner {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct letter letter;
	struct helper helper[IMPORTERS + REMOTES];
	struct cpu cpu[CPUS];
};

static void owner_open(struct owner *owner)
{
	struct ibv_alloc_dm_attr attr = { .length = DM_BYTES };
	struct letter *letter = &owner->letter;

	for (int i = 0; i < IMPORTERS + REMOTES; i++)
		owner->helper[i].sock = beside(i < IMPORTERS ? import_and_add : reach_and_add,
					       &owner->helper[i].pid);
	owner->context = fixture_open();
	owner->pd = ibv_alloc_pd(owner->context);
	owner->dm = ibv_alloc_dm(owner->context, &attr);
	ck_assert_ptr_nonnull(owner->dm);
	owner->mr = ibv_reg_dm_mr(owner->pd, owner->dm, 0, DM_BYTES, RIGHTS);
	ck_assert_ptr_nonnull(owner->mr);
	letter->pd = owner->pd->handle;
	letter->dm = owner->dm->handle;
	ck_assert_int_eq(getrandom(letter->mark, sizeof(letter->mark), 0), sizeof(letter->mark));
	ck_assert_int_eq(ibv_memcpy_to_dm(owner->dm, 0, letter->mark, sizeof(letter->mark)), 0);
}

static void introduce(struct owner *owner)
{
	struct end_cfg cfg = { .pd = owner->pd };

	for (int i = 0; i < IMPORTERS; i++) {
		give_fd(owner->helper[i].sock, owner->context->cmd_fd);
		ck_assert_int_eq(send(owner->helper[i].sock, &owner->letter, sizeof(owner->letter),
				      MSG_NOSIGNAL),
				 sizeof(owner->letter));
	}
	for (int i = IMPORTERS; i < IMPORTERS + REMOTES; i++) {
		struct helper *helper = &owner->helper[i];
		struct end_address mine, theirs;

		end_open(&helper->end, owner->context, &cfg);
		mine = end_address(&helper->end);
		mine.rkey = owner->mr->rkey;
		ck_assert_int_eq(send(helper->sock, &mine, sizeof(mine), MSG_NOSIGNAL),
				 sizeof(mine));
		ck_assert_int_eq(recv(helper->sock, &theirs, sizeof(theirs), MSG_WAITALL),
				 sizeof(theirs));
		end_connect(&helper->end, &theirs);
	}
}

static void start(struct owner *owner)
{
	uint8_t *map = map_exported(owner->dm, owner->letter.mark);

	ck_assert_ptr_nonnull(map);
	for (int i = 0; i < IMPORTERS + REMOTES; i++)
		meet(owner->helper[i].sock);
	for (int i = 0; i < CPUS; i++) {
		owner->cpu[i].word = (_Atomic uint64_t *)(void *)(map + WORD_AT);
		ck_assert_int_eq(
			pthread_create(&owner->cpu[i].thread, NULL, cpu_adds, &owner->cpu[i]), 0);
	}
}

static uint64_t finish(struct owner *owner)
{
	uint64_t sum = 0;

	for (int i = 0; i < IMPORTERS + REMOTES; i++)
		sum += collect(&owner->helper[i], i < IMPORTERS ? "importer" : "remote");
	atomic_store(&enough, true);
	for (int i = 0; i < CPUS; i++) {
		pthread_join(owner->cpu[i].thread, NULL);
		printf("thread: %llu by its CPU\n", (unsigned long long)owner->cpu[i].sum);
		sum += owner->cpu[i].sum;
	}
	for (int i = 0; i < IMPORTERS + REMOTES; i++) {
		join(owner->helper[i].pid, owner->helper[i].sock);
		if (i >= IMPORTERS)
			end_close(&owner->helper[i].end);
	}
	return sum;
}

START_TEST(nothing_is_lost)
{
	static struct owner owner;
	uint64_t sum, word = 0;

	owner_open(&owner);
	introduce(&owner);
	start(&owner);
	sum = finish(&owner);
	ck_assert_int_eq(ibv_memcpy_from_dm(&word, owner.dm, WORD_AT, sizeof(word)), 0);
	printf("the word: %llu\n", (unsigned long long)word);
	ck_assert_uint_eq(word, sum);
	ck_assert_int_eq(ibv_dereg_mr(owner.mr), 0);
	ck_assert_int_eq(ibv_free_dm(owner.dm), 0);
	ck_assert_int_eq(ibv_dealloc_pd(owner.pd), 0);
	ck_assert_int_eq(ibv_close_device(owner.context), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, nothing_is_lost);
}

int main(void)
{
	return fixture_main("verbs_word", add);
}
