// SPDX-License-Identifier: MIT
/* On-demand paging: pages that come and go below a region (mremap, files, fork), and those that a
 * program asks for beforehand. ibv_advise_mr(3). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "pages.h"

#define ODP   (FIXTURE_ALL_RIGHTS | IBV_ACCESS_ON_DEMAND)
#define READ  IBV_ADVISE_MR_ADVICE_PREFETCH
#define WRITE IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
#define SNAP  IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT
#define FLUSH IBV_ADVISE_MR_FLAG_FLUSH

static uint8_t *place;
static struct end a, b;
static struct ibv_mr *mr; /* b's, over the place */

static void setup(void)
{
	place = pages_place();
	ends_open(&a, &b, NULL);
	mr = ibv_reg_mr(b.pd, place, BYTES, ODP);
	ck_assert_ptr_nonnull(mr);
	a.peer.rkey = mr->rkey;
	a.peer.addr = (uintptr_t)place;
}

static void teardown(void)
{
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ends_close(&a, &b);
	pages_unmap(place);
}

static void expect_read(uint32_t number)
{
	memset(a.memory, 0, BYTES);
	end_post(&a, IBV_WR_RDMA_READ, 1, 0, BYTES);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_filled(a.memory, BYTES, number);
}

static void write_all(uint32_t number)
{
	fill(a.memory, BYTES, number);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, BYTES);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
}

static void expect_unreachable(void)
{
	end_post(&a, IBV_WR_RDMA_READ, 1, 0, BYTES);
	end_wait_for(&a, 1, IBV_WC_REM_ACCESS_ERR);
}

START_TEST(moved_in_and_out)
{
	uint8_t *other = pages_place();

	pages_map(other, PROT_READ | PROT_WRITE);
	fill(other, BYTES, 1);
	ck_assert_ptr_eq(mremap(other, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place), place);
	expect_read(1);
	write_all(2);
	ck_assert_ptr_eq(mremap(place, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, other), other);
	expect_filled(other, BYTES, 2);
	expect_unreachable();
	expect_filled(other, BYTES, 2);
	pages_unmap(other);
}
END_TEST

/* Other memory at the same place is what is accessed from then on. */
START_TEST(mapped_again)
{
	for (uint32_t round = 0; round < 5; round++) {
		pages_map(place, PROT_READ | PROT_WRITE);
		write_all(round);
		expect_filled(place, BYTES, round);
		pages_unmap(place);
		pages_map(place, PROT_READ | PROT_WRITE);
		fill(place, BYTES, round + 100);
		expect_read(round + 100);
	}
}
END_TEST

START_TEST(in_part)
{
	pages_map(place, PROT_READ | PROT_WRITE);
	munmap(place + (PAGES - 1) * PAGE, PAGE);
	end_post(&a, IBV_WR_RDMA_READ, 1, 0, BYTES - PAGE);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_unreachable();
}
END_TEST

/* Pages that the kernel has put aside are fetched by the access. */
START_TEST(dropped_pages_of_a_file)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, BYTES), 0);
	pages_map_file(place, fd);
	fill(place, BYTES, 1);
	ck_assert_int_eq(madvise(place, BYTES, MADV_DONTNEED), 0);
	expect_read(1);
	madvise(place, BYTES, 21 /* MADV_PAGEOUT, where there is swap */);
	expect_read(1);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, BYTES), 0);
	write_all(2);
	ck_assert_int_eq(pread(fd, a.memory, BYTES, 0), BYTES);
	expect_filled(a.memory, BYTES, 2);
	ck_assert_int_eq(ftruncate(fd, BYTES - PAGE), 0);
	expect_unreachable();
	close(fd);
}
END_TEST

/* The owner's page is copied when the peer writes to it: the child keeps what it had. */
START_TEST(copy_on_write)
{
	int status, go[2];
	pid_t child;
	char c = 'x';

	pages_map(place, PROT_READ | PROT_WRITE);
	fill(place, BYTES, 1);
	ck_assert_int_eq(pipe(go), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (read(go[0], &c, 1) != 1)
			_exit(2);
		expect_filled(place, BYTES, 1);
		fill(place, BYTES, 3);
		_exit(0);
	}
	write_all(2);
	ck_assert_int_eq(write(go[1], &c, 1), 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	expect_filled(place, BYTES, 2);
	expect_read(2);
	close(go[0]);
	close(go[1]);
}
END_TEST

static int advise(enum ibv_advise_mr_advice advice, uint32_t flags, uint32_t key,
		  const uint8_t *addr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, key };

	return ibv_advise_mr(b.pd, advice, flags, &sge, 1);
}

START_TEST(present_as_asked)
{
	struct ibv_sge list[] = { { (uintptr_t)place, 1, mr->lkey },
				  { (uintptr_t)place + 8 * PAGE - 1, 2, mr->lkey },
				  { (uintptr_t)place + 12 * PAGE, 0, mr->lkey } };

	pages_map(place, PROT_READ | PROT_WRITE);
	ck_assert_int_eq(advise(SNAP, FLUSH, mr->lkey, place, BYTES), 0);
	ck_assert_int_eq(advise(SNAP, 0, mr->lkey, place, BYTES), 0);
	ck_assert_uint_eq(pages_num_present(place), 0);
	ck_assert_int_eq(ibv_advise_mr(b.pd, READ, FLUSH, list, 3), 0);
	ck_assert_uint_eq(pages_num_present(place), 3);
	ck_assert(pages_present(place, 0) && pages_present(place, 7) && pages_present(place, 8));
	ck_assert_int_eq(advise(WRITE, FLUSH, mr->lkey, place + PAGE, 3 * PAGE), 0);
	ck_assert_uint_eq(pages_num_present(place), 6);
	ck_assert_int_eq(advise(WRITE, 0, mr->lkey, place, BYTES), 0);
	ck_assert_int_eq(advise(READ, 0, mr->lkey, place, BYTES), 0);
	expect_zero(place, BYTES);
	write_all(1);
	ck_assert_int_eq(advise(WRITE, FLUSH, mr->lkey, place, BYTES), 0);
	expect_filled(place, BYTES, 1); /* advice changes nothing */
}
END_TEST

/* With FLUSH what is not mapped is an error, without it a hint that came to nothing. */
START_TEST(advice_on_what_is_not_mapped)
{
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(advise(READ, FLUSH, mr->lkey, place, BYTES), EFAULT);
		ck_assert_int_eq(advise(WRITE, FLUSH, mr->lkey, place, BYTES), EFAULT);
		ck_assert_int_eq(advise(SNAP, FLUSH, mr->lkey, place, BYTES), 0);
		ck_assert_int_eq(advise(READ, 0, mr->lkey, place, BYTES), 0);
		ck_assert_int_eq(advise(WRITE, 0, mr->lkey, place, BYTES), 0);
		pages_map(place, PROT_NONE);
	}
	pages_map(place, PROT_READ);
	ck_assert_int_eq(advise(READ, FLUSH, mr->lkey, place, BYTES), 0);
	ck_assert_int_eq(advise(WRITE, FLUSH, mr->lkey, place, BYTES), EFAULT);
}
END_TEST

static void expect_error(enum ibv_advise_mr_advice advice, uint32_t key, const uint8_t *addr,
			 uint32_t len, int err)
{
	ck_assert_int_eq(advise(advice, FLUSH, key, addr, len), err);
	ck_assert_int_eq(advise(advice, 0, key, addr, len), err);
}

START_TEST(advice_refused)
{
	struct ibv_mr *fixed = ibv_reg_mr(b.pd, place, BYTES, IBV_ACCESS_ON_DEMAND);
	struct ibv_mr *of_a = ibv_reg_mr(a.pd, place, BYTES, ODP);
	struct ibv_sge list[] = { { (uintptr_t)place, PAGE, mr->lkey },
				  { (uintptr_t)place, PAGE, mr->lkey + 1 } };

	pages_map(place, PROT_READ | PROT_WRITE);
	expect_error(READ, mr->lkey + 1, place, PAGE, ENOENT);
	expect_error(READ, 0, place, PAGE, ENOENT);
	expect_error(READ, b.mr->lkey, b.memory, PAGE, ENOENT); /* not on demand */
	expect_error(READ, of_a->lkey, place, PAGE, EPERM);
	expect_error(WRITE, fixed->lkey, place, PAGE, EPERM);
	expect_error(READ, mr->lkey, place, BYTES + 1, EFAULT);
	expect_error(READ, mr->lkey, place - 1, 1, EFAULT);
	expect_error(SNAP, mr->lkey, place + BYTES, 1, EFAULT);
	expect_error((enum ibv_advise_mr_advice)3, mr->lkey, place, PAGE, EOPNOTSUPP);
	ck_assert_int_eq(advise(READ, 2, mr->lkey, place, PAGE), EINVAL);
	ck_assert_int_eq(ibv_advise_mr(b.pd, READ, 0, list, 0), EINVAL);
	ck_assert_int_eq(ibv_advise_mr(b.pd, READ, 0, NULL, 1), EINVAL);
	ck_assert_int_eq(ibv_advise_mr(b.pd, WRITE, FLUSH, list, 2), ENOENT);
	ck_assert_uint_eq(pages_num_present(place), 0); /* nor what came before the bad key */
	ck_assert_int_eq(ibv_dereg_mr(fixed), 0);
	ck_assert_int_eq(advise(READ, 0, fixed->lkey, place, PAGE), ENOENT);
	ck_assert_int_eq(ibv_dereg_mr(of_a), 0);
}
END_TEST

/* By iova, by a parent domain, and in the whole address space. */
START_TEST(advice_on_other_regions)
{
	struct ibv_parent_domain_init_attr attr = { .pd = b.pd };
	struct ibv_pd *parent = ibv_alloc_parent_domain(b.context, &attr);
	struct ibv_mr *all = ibv_reg_mr(parent, NULL, SIZE_MAX, ODP);
	struct ibv_mr *iova = ibv_reg_mr_iova(b.pd, place, BYTES, 0x10000, ODP);
	struct ibv_sge sge = { (uintptr_t)place + PAGE, PAGE, 0 };

	ck_assert(parent && all && iova);
	if (!parent ||
	    !all) /* for the compiler, which does not know that the assertion ends the test */
		return;
	sge.lkey = all->lkey;
	pages_map(place, PROT_READ | PROT_WRITE);
	ck_assert_int_eq(ibv_advise_mr(parent, WRITE, FLUSH, &sge, 1), 0);
	ck_assert(pages_present(place, 1));
	ck_assert_int_eq(advise(WRITE, FLUSH, iova->lkey, (void *)(0x10000 + 3 * PAGE), PAGE), 0);
	ck_assert(pages_present(place, 3));
	ck_assert_uint_eq(pages_num_present(place), 2);
	ck_assert_int_eq(advise(READ, FLUSH, all->lkey, NULL, PAGE), EFAULT);
	ck_assert_int_eq(advise(READ, FLUSH, all->lkey, (void *)-4096l, PAGE), EFAULT);
	ck_assert_int_eq(ibv_dereg_mr(all), 0);
	ck_assert_int_eq(ibv_dereg_mr(iova), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, moved_in_and_out);
	tcase_add_test(tests, mapped_again);
	tcase_add_test(tests, in_part);
	tcase_add_test(tests, dropped_pages_of_a_file);
	tcase_add_test(tests, copy_on_write);
	tcase_add_test(tests, present_as_asked);
	tcase_add_test(tests, advice_on_what_is_not_mapped);
	tcase_add_test(tests, advice_refused);
	tcase_add_test(tests, advice_on_other_regions);
}

int main(void)
{
	return fixture_main("verbs_odp_pages", add);
}
