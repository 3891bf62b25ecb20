// SPDX-License-Identifier: MIT
/* Memory regions and device memory as their manual pages have them: what may be registered, copied
 * and changed, and what not. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fixture.h"
#include "pages.h"

static struct ibv_context *context;
static struct ibv_pd *pd;

static void setup(void)
{
	context = fixture_open();
	pd = ibv_alloc_pd(context);
	ck_assert_ptr_nonnull(pd);
}

static void teardown(void)
{
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

/* The first num pages of a place of their own: what is unmapped there stays unmapped. */
static uint8_t *pages(size_t num, int prot)
{
	uint8_t *place = pages_place();

	ck_assert_uint_le(num, PAGES);
	pages_map(place, prot);
	ck_assert_int_eq(munmap(place + num * PAGE, BYTES - num * PAGE), 0);
	return place;
}

static void expect_refused(void *addr, size_t len, unsigned int access, int err)
{
	errno = 0;
	ck_assert_ptr_null(ibv_reg_mr(pd, addr, len, access));
	ck_assert_msg(errno == err, "access 0x%x, length %zu: %s", access, len, strerror(errno));
}

static void expect_taken(void *addr, size_t len, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, len, access);

	ck_assert_msg(mr != NULL, "access 0x%x: %s", access, strerror(errno));
	ck_assert_ptr_eq(mr->addr, addr);
	ck_assert_uint_eq(mr->length, len);
	ck_assert_uint_ne(mr->lkey, 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
}

START_TEST(access_flags)
{
	static uint8_t buf[PAGE];

	expect_taken(buf, sizeof(buf), 0);
	expect_taken(buf, sizeof(buf), FIXTURE_ALL_RIGHTS);
	expect_taken(buf, sizeof(buf), IBV_ACCESS_REMOTE_READ);
	expect_taken(buf, sizeof(buf),
		     FIXTURE_ALL_RIGHTS | IBV_ACCESS_MW_BIND | IBV_ACCESS_HUGETLB);
	expect_taken(buf, sizeof(buf), IBV_ACCESS_RELAXED_ORDERING);
	expect_taken(buf, sizeof(buf), IBV_ACCESS_OPTIONAL_RANGE);
	expect_refused(buf, sizeof(buf), IBV_ACCESS_REMOTE_WRITE, EINVAL);
	expect_refused(buf, sizeof(buf), IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
	expect_refused(buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | 1 << 10, EINVAL);
	expect_refused(buf, sizeof(buf), 1u << 31, EINVAL);
}
END_TEST

START_TEST(memory_that_is_not_there)
{
	uint8_t *p = pages(4, PROT_READ | PROT_WRITE);

	munmap(p + 2 * PAGE, PAGE);
	mprotect(p + 3 * PAGE, PAGE, PROT_READ);
	expect_refused(p, 4 * PAGE, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	expect_refused(p + PAGE, PAGE + 1, 0, EFAULT);
	expect_refused(p + 3 * PAGE, PAGE, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	expect_taken(p + 3 * PAGE, PAGE, IBV_ACCESS_REMOTE_READ);
	expect_taken(p + 5, 2 * PAGE - 5, IBV_ACCESS_LOCAL_WRITE);
	expect_refused(NULL, PAGE, 0, EFAULT);
	expect_refused(p, SIZE_MAX, 0, EINVAL);
	expect_refused(p, SIZE_MAX - (uintptr_t)p, 0, EINVAL);
	munmap(p, 4 * PAGE);
}
END_TEST

/* Far more than any machine has, none of it touched: refused before the kernel has to find the
 * memory. */
START_TEST(more_memory_than_there_is)
{
	const size_t len = 1ull << 40;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return; /* this kernel gives no more than there is */
	expect_refused(p, len, IBV_ACCESS_LOCAL_WRITE, ENOMEM);
	expect_refused(p, len, 0, ENOMEM);
	expect_taken((uint8_t *)p + len / 2, 3 * PAGE, IBV_ACCESS_LOCAL_WRITE);
	munmap(p, len);
}
END_TEST

/* Registration touches every page and changes none. */
START_TEST(content_stays)
{
	uint8_t *p = pages(3, PROT_READ | PROT_WRITE);

	fill(p + PAGE, PAGE, 3);
	expect_taken(p, 3 * PAGE, FIXTURE_ALL_RIGHTS);
	expect_zero(p, PAGE);
	expect_filled(p + PAGE, PAGE, 3);
	munmap(p, 3 * PAGE);
}
END_TEST

static long page_faults(void)
{
	struct rusage usage;

	ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_minflt + usage.ru_majflt;
}

static long faults_of_a_registration(void *p, size_t len)
{
	const long before = page_faults();

	expect_taken(p, len, FIXTURE_ALL_RIGHTS);
	return page_faults() - before;
}

/* A page is touched for writing at once, so that it faults once, and never again once it is there.
 * SMALL faults are those of the calls themselves. */
START_TEST(no_page_is_touched_twice)
{
	enum { SMALL = 200 };
	const size_t len = 1ul << 30;
	const long n = (long)(len / PAGE);
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long first, touching, again;

	ck_assert_ptr_ne(p, MAP_FAILED);
	if (sysconf(_SC_AVPHYS_PAGES) < 2 * n) {
		puts("no test of page faults: less than 2 GiB of memory is free");
		munmap(p, len);
		return;
	}
	madvise(p, len, MADV_NOHUGEPAGE);
	first = faults_of_a_registration(p, len);
	touching = page_faults();
	for (size_t at = 0; at < len; at += PAGE)
		p[at] = 1;
	touching = page_faults() - touching;
	again = faults_of_a_registration(p, len);
	printf("%ld pages: %ld faults by the registration, %ld by writing then, %ld by another "
	       "registration\n",
	       n, first, touching, again);
	ck_assert_int_ge(first, n);
	ck_assert_int_le(first, n + SMALL);
	ck_assert_int_le(touching, SMALL);
	ck_assert_int_le(again, SMALL);
	munmap(p, len);
}
END_TEST

static void write_to(struct end *a, uint32_t rkey, uint64_t addr, uint32_t len,
		     enum ibv_wc_status status)
{
	a->peer.rkey = rkey;
	a->peer.addr = addr;
	end_post(a, IBV_WR_RDMA_WRITE, 1, 0, len);
	end_wait_for(a, 1, status);
}

/* A region of no bytes: messages of none go out of it and into it, and any more is refused. */
START_TEST(without_bytes)
{
	static uint8_t byte;
	struct ibv_mr *mr, *null;
	struct ibv_send_wr wr, *bad;
	struct ibv_recv_wr in, *bad_in;
	struct ibv_sge sge;
	struct end a, b;

	ends_open(&a, &b, NULL);
	null = ibv_reg_mr(b.pd, NULL, 0, 0);
	mr = ibv_reg_mr(b.pd, &byte, 0, FIXTURE_ALL_RIGHTS);
	ck_assert(null && mr);
	ck_assert_uint_eq(mr->length, 0);
	ck_assert_uint_ne(mr->lkey, null->lkey);
	sge = (struct ibv_sge){ (uintptr_t)&byte, 0, mr->lkey };
	in = (struct ibv_recv_wr){ .wr_id = 2, .sg_list = &sge, .num_sge = 1 };
	ck_assert_int_eq(ibv_post_recv(b.qp, &in, &bad_in), 0);
	end_post(&a, IBV_WR_SEND, 1, 0, 0);
	end_wait_for(&b, 2, IBV_WC_SUCCESS);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	wr = end_wr(&b, &sge, IBV_WR_RDMA_READ, 3, 0, 0);
	sge = (struct ibv_sge){ (uintptr_t)&byte, 0, mr->lkey };
	ck_assert_int_eq(ibv_post_send(b.qp, &wr, &bad), 0);
	end_wait_for(&b, 3, IBV_WC_SUCCESS);
	write_to(&a, mr->rkey, (uintptr_t)&byte, 0, IBV_WC_SUCCESS);
	write_to(&a, mr->rkey, (uintptr_t)&byte, 1, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dereg_mr(null), 0);
	ends_close(&a, &b);
}
END_TEST

START_TEST(other_addresses)
{
	static uint8_t buf[2 * PAGE];
	struct ibv_mr *zero, *iova;
	struct end a, b;

	ends_open(&a, &b, NULL);
	zero = ibv_reg_mr(b.pd, buf, PAGE, FIXTURE_ALL_RIGHTS | IBV_ACCESS_ZERO_BASED);
	iova = ibv_reg_mr_iova(b.pd, buf + PAGE, PAGE, 0x7000000000000ull, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(zero);
	ck_assert_ptr_nonnull(iova);
	fill(a.memory, 100, 1);
	write_to(&a, zero->rkey, 50, 100, IBV_WC_SUCCESS);
	expect_filled(buf + 50, 100, 1);
	write_to(&a, iova->rkey, 0x7000000000000ull + PAGE - 100, 100, IBV_WC_SUCCESS);
	expect_filled(buf + 2 * PAGE - 100, 100, 1);
	write_to(&a, iova->rkey, (uintptr_t)buf + PAGE, 100, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dereg_mr(zero), 0);
	ck_assert_int_eq(ibv_dereg_mr(iova), 0);
	ends_close(&a, &b);
}
END_TEST

/* free() and munmap() before dereg: the peer gets an error, the program lives. */
START_TEST(unmapped_before_dereg)
{
	uint8_t *p = pages(2, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;
	struct end a, b;

	ends_open(&a, &b, NULL);
	mr = ibv_reg_mr(b.pd, p, 2 * PAGE, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(mr);
	write_to(&a, mr->rkey, (uintptr_t)p, 2 * PAGE, IBV_WC_SUCCESS);
	munmap(p + PAGE, PAGE);
	a.peer.rkey = mr->rkey;
	a.peer.addr = (uintptr_t)p;
	end_post(&a, IBV_WR_RDMA_WRITE, 2, 0, 2 * PAGE);
	ck_assert_int_ne(end_wait(&a).status, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	munmap(p, PAGE);
	ends_close(&a, &b);
}
END_TEST

static void expect_unchanged(struct ibv_mr *mr, int flags, struct ibv_pd *to, void *addr,
			     size_t len, int access, int result, int err)
{
	const struct ibv_mr before = *mr;

	errno = 0;
	ck_assert_int_eq(ibv_rereg_mr(mr, flags, to, addr, len, access), result);
	ck_assert_int_eq(errno, err);
	ck_assert_mem_eq(mr, &before, sizeof(before));
}

START_TEST(changed)
{
	uint8_t *p = pages(3, PROT_READ | PROT_WRITE);
	struct ibv_pd *other = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_mr(pd, p, PAGE, IBV_ACCESS_LOCAL_WRITE);
	uint32_t key = mr->lkey;

	munmap(p + 2 * PAGE, PAGE);
	expect_unchanged(mr, 1 << 9, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL);
	expect_unchanged(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_INPUT,
			 EINVAL);
	expect_unchanged(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p, 0, 0, IBV_REREG_MR_ERR_INPUT,
			 EINVAL);
	expect_unchanged(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, PAGE, 0,
			 IBV_REREG_MR_ERR_INPUT, EINVAL);
	expect_unchanged(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p, PAGE, IBV_ACCESS_LOCAL_WRITE,
			 IBV_REREG_MR_ERR_INPUT, EINVAL);
	expect_unchanged(mr, 0, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_CMD, EINVAL);
	expect_unchanged(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE,
			 IBV_REREG_MR_ERR_CMD, EINVAL);
	expect_unchanged(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p, 3 * PAGE, 0,
			 IBV_REREG_MR_ERR_CMD, EFAULT);
	ck_assert_uint_eq(mr->length, PAGE);

	ck_assert_int_eq(ibv_rereg_mr(mr, IBV_REREG_MR_FLAGS_SUPPORTED, other, p + PAGE, PAGE / 2,
				      FIXTURE_ALL_RIGHTS),
			 0);
	ck_assert_ptr_eq(mr->addr, p + PAGE);
	ck_assert_uint_eq(mr->length, PAGE / 2);
	ck_assert_ptr_eq(mr->pd, other);
	ck_assert_uint_eq(mr->lkey, key); /* peers go on using it */
	ck_assert_int_eq(ibv_dealloc_pd(other), EBUSY);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), EINVAL);
	ck_assert_int_eq(ibv_dealloc_pd(other), 0);
	munmap(p, 2 * PAGE);
}
END_TEST

START_TEST(by_descriptor)
{
	int fd = memfd_create("region", MFD_CLOEXEC);
	struct ibv_mr *mr;
	struct end a, b;
	uint8_t bytes[100];

	ck_assert_int_eq(ftruncate(fd, 3 * PAGE), 0);
	ends_open(&a, &b, NULL);
	errno = 0;
	ck_assert_ptr_null(ibv_reg_dmabuf_mr(b.pd, 0, 3 * PAGE + 1, 0, fd, FIXTURE_ALL_RIGHTS));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(ibv_reg_dmabuf_mr(b.pd, 100, PAGE, 0, fd, FIXTURE_ALL_RIGHTS));
	ck_assert_int_eq(errno, EINVAL); /* page offsets differ */
	ck_assert_ptr_null(ibv_reg_dmabuf_mr(b.pd, 0, PAGE, 0, -1, FIXTURE_ALL_RIGHTS));
	ck_assert_int_eq(errno, EBADF);
	ck_assert_ptr_null(ibv_reg_dmabuf_mr(b.pd, UINT64_MAX, PAGE, 0, fd, FIXTURE_ALL_RIGHTS));
	ck_assert_ptr_null(ibv_reg_dmabuf_mr(b.pd, 0, PAGE, 0, fd, IBV_ACCESS_ZERO_BASED));

	mr = ibv_reg_dmabuf_mr(b.pd, PAGE + 64, PAGE, 0x10040, fd, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(mr);
	fill(a.memory, 100, 8);
	write_to(&a, mr->rkey, 0x10040, 100, IBV_WC_SUCCESS);
	ck_assert_int_eq(pread(fd, bytes, 100, PAGE + 64), 100);
	expect_filled(bytes, 100, 8);
	expect_unchanged(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_INPUT,
			 EINVAL);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	close(fd);
	ends_close(&a, &b);
}
END_TEST

static struct ibv_dm *dm_of(size_t length, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = { .length = length, .log_align_req = log_align };

	errno = 0;
	return ibv_alloc_dm(context, &attr);
}

START_TEST(device_memory_sizes)
{
	struct ibv_alloc_dm_attr odd = { .length = 64, .comp_mask = 1 };
	struct ibv_device_attr_ex attr;
	struct ibv_dm *all;

	ck_assert_int_eq(ibv_query_device_ex(context, NULL, &attr), 0);
	ck_assert_ptr_null(dm_of(0, 0));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(dm_of(attr.max_dm_size + 1, 0));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(dm_of(64, 64));
	ck_assert_ptr_null(dm_of(SIZE_MAX, 0));
	ck_assert_ptr_null(ibv_alloc_dm(context, &odd));
	ck_assert_ptr_null(ibv_alloc_dm(context, NULL));
	all = dm_of(attr.max_dm_size, 0);
	ck_assert_ptr_nonnull(all);
	ck_assert_ptr_null(dm_of(1, 0));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(ibv_free_dm(all), 0);
}
END_TEST

START_TEST(device_memory_copies)
{
	struct ibv_dm *dm = dm_of(100, 3);
	uint8_t in[104], out[104] = { 0 };

	ck_assert_ptr_nonnull(dm);
	if (!dm) /* for the compiler, which does not know that the assertion ends the test */
		return;
	fill(in, sizeof(in), 5);
	ck_assert_int_eq(ibv_memcpy_from_dm(out, dm, 0, 100), 0);
	expect_zero(out, 100);
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 0, in, 100), 0);
	ck_assert_int_eq(ibv_memcpy_from_dm(out, dm, 0, 100), 0);
	ck_assert_mem_eq(in, out, 100);
	for (size_t len = 0; len <= 100; len++)
		ck_assert_int_eq(ibv_memcpy_to_dm(dm, 0, in, len), 0);
	ck_assert_int_eq(ibv_memcpy_from_dm(out, dm, 96, 4), 0);
	ck_assert_mem_eq(in + 96, out, 4);

	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 1, in, 4), EINVAL);
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 0, in, 101), EINVAL);
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 100, in, 1), EINVAL);
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 100, in, 0), 0);
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 104, in, 0), EINVAL);
	for (uint64_t at = UINT64_MAX - 7; at != 0; at++) {
		for (size_t len = 0; len <= 8; len++) {
			ck_assert_int_eq(ibv_memcpy_to_dm(dm, at, in, len), EINVAL);
			ck_assert_int_eq(ibv_memcpy_from_dm(out, dm, at, len), EINVAL);
		}
		ck_assert_int_eq(ibv_memcpy_to_dm(dm, at, in, SIZE_MAX), EINVAL);
		ck_assert_int_eq(ibv_memcpy_to_dm(dm, 0, in, at), EINVAL);
	}
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 1ull << 63, in, 1ull << 63), EINVAL);
	ck_assert_int_eq(ibv_memcpy_from_dm(out, dm, 4, SIZE_MAX), EINVAL);
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 0, NULL, 4), EINVAL);
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 0, (void *)64, 4), EFAULT);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
}
END_TEST

START_TEST(device_memory_regions)
{
	unsigned int zero_based = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;
	struct ibv_dm *dm = dm_of(100, 0);
	struct ibv_mr *mr, *empty;

	ck_assert_ptr_null(ibv_reg_dm_mr(pd, dm, 0, 100, IBV_ACCESS_LOCAL_WRITE));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(ibv_reg_dm_mr(pd, dm, 0, 101, zero_based));
	ck_assert_ptr_null(ibv_reg_dm_mr(pd, dm, 101, 0, zero_based));
	ck_assert_ptr_null(ibv_reg_dm_mr(pd, dm, UINT64_MAX, 2, zero_based));
	ck_assert_ptr_null(ibv_reg_dm_mr(pd, dm, 0, 4, zero_based | IBV_ACCESS_ON_DEMAND));
	ck_assert_ptr_null(
		ibv_reg_dm_mr(pd, dm, 0, 4, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE));
	ck_assert_ptr_null(ibv_reg_dm_mr(pd, NULL, 0, 4, zero_based));
	mr = ibv_reg_dm_mr(pd, dm, 4, 96, zero_based);
	empty = ibv_reg_dm_mr(pd, dm, 100, 0, zero_based);
	ck_assert_ptr_nonnull(mr);
	ck_assert_ptr_nonnull(empty);
	ck_assert_ptr_null(mr->addr);
	ck_assert_uint_eq(mr->length, 96);
	expect_unchanged(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_CMD,
			 EOPNOTSUPP);
	ck_assert_int_eq(ibv_free_dm(dm), EBUSY);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_free_dm(dm), EBUSY);
	ck_assert_int_eq(ibv_dereg_mr(empty), 0);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, access_flags);
	tcase_add_test(tests, memory_that_is_not_there);
	tcase_add_test(tests, more_memory_than_there_is);
	tcase_add_test(tests, content_stays);
	tcase_add_test(tests, no_page_is_touched_twice);
	tcase_add_test(tests, without_bytes);
	tcase_add_test(tests, other_addresses);
	tcase_add_test(tests, unmapped_before_dereg);
	tcase_add_test(tests, changed);
	tcase_add_test(tests, by_descriptor);
	tcase_add_test(tests, device_memory_sizes);
	tcase_add_test(tests, device_memory_copies);
	tcase_add_test(tests, device_memory_regions);
}

int main(void)
{
	return fixture_main("verbs_regions", add);
}
