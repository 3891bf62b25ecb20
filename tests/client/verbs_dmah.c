// SPDX-License-Identifier: MIT
/* DMA handles and ibv_reg_mr_ex: which combinations are taken, which are refused and how, and that
 * regions made so work. ibv_alloc_dmah(3), ibv_reg_mr(3). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "lib/abi/newer.h"

#define PAGE 4096u

static struct ibv_context *context;
static struct ibv_pd *pd;

static void set_up(void)
{
	context = fixture_open();
	pd = ibv_alloc_pd(context);
	ck_assert_ptr_nonnull(pd);
}

static void tear_down(void)
{
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

static struct ibv_dmah_init_attr hints(uint32_t mask)
{
	return (struct ibv_dmah_init_attr){
		.comp_mask = mask, .cpu_id = 0, .ph = 2, .tph_mem_type = IBV_TPH_MEM_TYPE_PM
	};
}

static void expect_no_dmah(struct ibv_dmah_init_attr attr)
{
	errno = 0;
	ck_assert_ptr_null(ibv_alloc_dmah(context, &attr));
	ck_assert_int_eq(errno, EINVAL);
}

static struct ibv_mr *reg(struct ibv_mr_init_attr attr)
{
	errno = 0;
	return ibv_reg_mr_ex(pd, &attr);
}

static void expect_no_mr(struct ibv_mr_init_attr attr, int err)
{
	ck_assert_ptr_null(reg(attr));
	ck_assert_int_eq(errno, err);
}

START_TEST(every_mask)
{
	for (uint32_t mask = 0; mask < 8; mask++) {
		struct ibv_dmah_init_attr attr = hints(mask);
		struct ibv_dmah *dmah = ibv_alloc_dmah(context, &attr);

		ck_assert_ptr_nonnull(dmah);
		ck_assert_ptr_eq(dmah->context, context);
		ck_assert_int_eq(ibv_dealloc_dmah(dmah), 0);
		ck_assert_int_eq(ibv_dealloc_dmah(dmah), EINVAL);
	}
}
END_TEST

START_TEST(ranges)
{
	const uint32_t all = IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH |
			     IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE;
	const uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	struct ibv_dmah_init_attr attr = hints(all);
	struct ibv_dmah *dmah;

	attr.cpu_id = cpus - 1;
	attr.ph = 3;
	attr.tph_mem_type = IBV_TPH_MEM_TYPE_VM;
	dmah = ibv_alloc_dmah(context, &attr);
	ck_assert_ptr_nonnull(dmah);
	ck_assert_int_eq(ibv_dealloc_dmah(dmah), 0);

	attr = hints(all);
	attr.cpu_id = cpus;
	expect_no_dmah(attr);
	attr.cpu_id = 0xffff;
	expect_no_dmah(attr);
	attr = hints(all);
	attr.ph = 4;
	expect_no_dmah(attr);
	attr = hints(all);
	attr.tph_mem_type = IBV_TPH_MEM_TYPE_PM + 1;
	expect_no_dmah(attr);
	attr.tph_mem_type = 0xfe;
	expect_no_dmah(attr);
	expect_no_dmah(hints(8));
	expect_no_dmah(hints(0x80000000u | all));
	errno = 0;
	ck_assert_ptr_null(ibv_alloc_dmah(context, NULL));
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* What the mask does not name is not looked at. */
START_TEST(fields_not_named)
{
	struct ibv_dmah_init_attr attr = { .cpu_id = UINT32_MAX, .ph = 0xff, .tph_mem_type = 0xff };
	struct ibv_dmah *dmah = ibv_alloc_dmah(context, &attr);

	ck_assert_ptr_nonnull(dmah);
	ck_assert_int_eq(ibv_dealloc_dmah(dmah), 0);
}
END_TEST

START_TEST(busy_while_used)
{
	static uint8_t bytes[64];
	struct ibv_dmah_init_attr attr = hints(IBV_DMAH_INIT_ATTR_MASK_PH);
	struct ibv_dmah *dmah = ibv_alloc_dmah(context, &attr);
	struct ibv_mr_init_attr want = {
		.length = sizeof(bytes),
		.access = FIXTURE_ALL_RIGHTS,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
		.addr = bytes,
		.dmah = dmah,
	};
	struct ibv_mr *one, *two;

	one = reg(want);
	two = reg(want);
	ck_assert_ptr_nonnull(one);
	ck_assert_ptr_nonnull(two);
	ck_assert_int_eq(ibv_dealloc_dmah(dmah), EBUSY);
	ck_assert_int_eq(ibv_dereg_mr(one), 0);
	ck_assert_int_eq(ibv_dealloc_dmah(dmah), EBUSY);
	ck_assert_int_eq(ibv_dereg_mr(two), 0);
	ck_assert_int_eq(ibv_dealloc_dmah(dmah), 0);
	expect_no_mr(want, EINVAL); /* it is gone */
	want.dmah = NULL;
	expect_no_mr(want, EINVAL);
}
END_TEST

START_TEST(of_another_context)
{
	static uint8_t bytes[64];
	struct ibv_context *other = fixture_open();
	struct ibv_dmah_init_attr attr = hints(0);
	struct ibv_dmah *dmah = ibv_alloc_dmah(other, &attr);

	expect_no_mr(
		(struct ibv_mr_init_attr){
			.length = sizeof(bytes),
			.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
			.addr = bytes,
			.dmah = dmah,
		},
		EINVAL);
	ck_assert_int_eq(ibv_dealloc_dmah(dmah), 0);
	ck_assert_int_eq(ibv_close_device(other), 0);
}
END_TEST

/* rdma-core's own tests demand it. */
START_TEST(not_on_demand)
{
	static uint8_t bytes[64];
	struct ibv_dmah_init_attr attr = hints(0);
	struct ibv_dmah *dmah = ibv_alloc_dmah(context, &attr);
	struct ibv_mr_init_attr want = {
		.length = sizeof(bytes),
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
		.addr = bytes,
		.dmah = dmah,
	};

	expect_no_mr(want, EOPNOTSUPP);
	ck_assert_int_eq(ibv_dealloc_dmah(dmah), 0);
}
END_TEST

static bool shown(const char *what)
{
	char line[4096];
	bool found = false;
	FILE *show;

	ck_assert_ptr_nonnull(getenv("RXE_TEST_COMMAND"));
	snprintf(line, sizeof(line), "%s show", getenv("RXE_TEST_COMMAND"));
	ck_assert_int_eq(unsetenv("LD_PRELOAD"), 0); /* a sanitizer, not for the shell */
	show = popen(line, "r");
	ck_assert_ptr_nonnull(show);
	while (fgets(line, sizeof(line), show))
		found |= strstr(line, what) != NULL;
	ck_assert_int_eq(pclose(show), 0);
	return found;
}

START_TEST(seen_in_show)
{
	struct ibv_dmah_init_attr attr = hints(7);
	struct ibv_dmah *dmah;

	ck_assert(!shown("persistent"));
	dmah = ibv_alloc_dmah(context, &attr);
	ck_assert_ptr_nonnull(dmah);
	ck_assert(shown("persistent"));
	ck_assert_int_eq(ibv_dealloc_dmah(dmah), 0);
	ck_assert(!shown("persistent"));
}
END_TEST

/* Of the ways to name memory, exactly these: an address, with or without an iova; a descriptor with
 * offset and iova. */
START_TEST(ways_of_reg_mr_ex)
{
	const uint64_t fd_way =
		IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA;
	int fd = memfd_create("ways", MFD_CLOEXEC);
	static uint8_t bytes[PAGE] __attribute__((aligned(PAGE)));

	ck_assert_int_eq(ftruncate(fd, 4 * PAGE), 0);
	for (uint64_t mask = 0; mask < 16; mask++) {
		struct ibv_mr_init_attr attr = {
			.length = PAGE,
			.access = IBV_ACCESS_LOCAL_WRITE,
			.comp_mask = mask,
			.iova = 16 * PAGE,
			.addr = bytes,
			.fd = fd,
			.fd_offset = PAGE,
		};
		uint64_t way = mask & ~(uint64_t)IBV_REG_MR_MASK_IOVA;
		struct ibv_mr *mr;

		if (way != IBV_REG_MR_MASK_ADDR && mask != fd_way) {
			expect_no_mr(attr, EINVAL);
			continue;
		}
		mr = reg(attr);
		ck_assert_ptr_nonnull(mr);
		ck_assert_ptr_eq(mr->addr, mask == fd_way ? (void *)(uintptr_t)PAGE : bytes);
		ck_assert_uint_eq(mr->length, PAGE);
		ck_assert_ptr_eq(mr->pd, pd);
		ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	}
	expect_no_mr((struct ibv_mr_init_attr){ .length = PAGE,
						.comp_mask = IBV_REG_MR_MASK_ADDR | 1ull << 40,
						.addr = bytes },
		     EOPNOTSUPP);
	close(fd);
}
END_TEST

START_TEST(on_demand_by_reg_mr_ex)
{
	struct ibv_mr_init_attr attr = {
		.length = PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND,
		.comp_mask = IBV_REG_MR_MASK_ADDR,
		.addr = (void *)PAGE, /* not mapped */
	};
	struct ibv_mr *mr = reg(attr);

	ck_assert_ptr_nonnull(mr);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	attr.length = SIZE_MAX;
	expect_no_mr(attr, EINVAL);
	attr.addr = NULL;
	mr = reg(attr);
	ck_assert_ptr_nonnull(mr);
	ck_assert_uint_eq(mr->length, SIZE_MAX);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	attr.comp_mask |= IBV_REG_MR_MASK_IOVA;
	attr.iova = PAGE;
	expect_no_mr(attr, EINVAL);
	attr.length = PAGE;
	attr.comp_mask = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA;
	expect_no_mr(attr, EINVAL);
}
END_TEST

START_TEST(what_a_descriptor_must_be)
{
	struct ibv_mr_init_attr attr = {
		.length = PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.comp_mask = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA,
		.fd = memfd_create("what", MFD_CLOEXEC),
	};
	int pipes[2];

	ck_assert_int_eq(ftruncate(attr.fd, 2 * PAGE), 0);
	attr.fd_offset = PAGE + 8; /* its end lies beyond the memfd's */
	attr.iova = 8;
	expect_no_mr(attr, EINVAL);
	attr.fd_offset = 8;
	attr.iova = 0; /* another place in its page */
	expect_no_mr(attr, EINVAL);
	attr.fd_offset = UINT64_MAX - 7;
	attr.iova = PAGE - 8;
	expect_no_mr(attr, EINVAL);
	close(attr.fd);
	attr.fd_offset = attr.iova = 0;
	expect_no_mr(attr, EBADF);
	ck_assert_int_eq(pipe(pipes), 0);
	attr.fd = pipes[0]; /* cannot be mapped */
	expect_no_mr(attr, EINVAL);
	close(pipes[0]);
	close(pipes[1]);
}
END_TEST

START_TEST(buffers)
{
	struct ibv_pd *other = ibv_alloc_pd(context);
	struct ibv_buf *buf;
	uint8_t *bytes = ibv_alloc_buf(pd, 2 * PAGE, &buf);
	struct ibv_mr_init_attr attr = {
		.length = PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.comp_mask = IBV_REG_MR_MASK_BUF | IBV_REG_MR_MASK_ADDR,
		.addr = bytes + PAGE,
		.buf = buf,
	};
	struct ibv_mr *mr = reg(attr);

	ck_assert_ptr_nonnull(mr);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	attr.length = PAGE + 1;
	expect_no_mr(attr, EINVAL);
	attr.length = PAGE;
	attr.comp_mask = IBV_REG_MR_MASK_BUF;
	expect_no_mr(attr, EINVAL);
	attr.comp_mask = IBV_REG_MR_MASK_BUF | IBV_REG_MR_MASK_ADDR;
	ck_assert_ptr_null(ibv_reg_mr_ex(other, &attr));
	ck_assert_int_eq(errno, EINVAL);
	errno = 0;
	ck_assert_int_eq(ibv_export_buf_dmabuf_fd(buf), -1);
	ck_assert_int_eq(errno, ENODATA);
	ibv_free_buf(buf);
	ck_assert_int_eq(ibv_dealloc_pd(other), 0);
}
END_TEST

/* A peer's write lands in a memfd that was registered by its descriptor, with hints. */
START_TEST(traffic)
{
	struct ibv_dmah_init_attr hint = hints(7);
	struct ibv_mr_init_attr attr = {
		.length = 2 * PAGE,
		.access = FIXTURE_ALL_RIGHTS,
		.comp_mask = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA |
			     IBV_REG_MR_MASK_DMAH,
		.iova = 0x10000000,
		.fd = memfd_create("traffic", MFD_CLOEXEC),
		.fd_offset = PAGE,
	};
	struct end a, b;
	struct ibv_mr *mr;
	uint8_t *bytes;

	ck_assert_int_eq(ftruncate(attr.fd, 4 * PAGE), 0);
	bytes = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, attr.fd, 0);
	ck_assert_ptr_ne(bytes, MAP_FAILED);
	ends_open(&a, &b, NULL);
	attr.dmah = ibv_alloc_dmah(b.context, &hint);
	mr = ibv_reg_mr_ex(b.pd, &attr);
	ck_assert_ptr_nonnull(mr);
	close(attr.fd);
	a.peer.rkey = mr->rkey;
	a.peer.addr = attr.iova;
	fill(a.memory, 2 * PAGE, 3);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 2 * PAGE);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_zero(bytes, PAGE);
	expect_filled(bytes + PAGE, 2 * PAGE, 3);
	expect_zero(bytes + 3 * PAGE, PAGE);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dealloc_dmah(attr.dmah), 0);
	munmap(bytes, 4 * PAGE);
	ends_close(&a, &b);
}
END_TEST

/* What another process could map, or a refusal where the kernel makes no dmabuf. */
START_TEST(device_memory_as_descriptor)
{
	struct ibv_alloc_dm_attr attr = { .length = PAGE };
	struct ibv_dm *dm = ibv_alloc_dm(context, &attr);
	uint8_t bytes[64], *map;
	int fd;

	ck_assert_ptr_nonnull(dm);
	errno = 0;
	fd = ibv_dm_export_dmabuf_fd(dm);
	if (fd < 0) {
		ck_assert_int_eq(errno, EOPNOTSUPP);
		ck_assert_int_eq(fd, -1);
		ck_assert_int_eq(ibv_free_dm(dm), 0);
	} else {
		map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ck_assert_ptr_ne(map, MAP_FAILED);
		fill(map, sizeof(bytes), 8);
		ck_assert_int_eq(ibv_memcpy_from_dm(bytes, dm, 0, sizeof(bytes)), 0);
		expect_filled(bytes, sizeof(bytes), 8);
		/* What comes after it in the same place is not seen. */
		ck_assert_int_eq(ibv_free_dm(dm), 0);
		dm = ibv_alloc_dm(context, &attr);
		ck_assert_ptr_nonnull(dm);
		fill(bytes, sizeof(bytes), 9);
		ck_assert_int_eq(ibv_memcpy_to_dm(dm, 0, bytes, sizeof(bytes)), 0);
		expect_filled(map, sizeof(bytes), 8);
		ck_assert_int_eq(ibv_free_dm(dm), 0);
		munmap(map, PAGE);
		close(fd);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, every_mask);
	tcase_add_test(tests, ranges);
	tcase_add_test(tests, fields_not_named);
	tcase_add_test(tests, busy_while_used);
	tcase_add_test(tests, of_another_context);
	tcase_add_test(tests, not_on_demand);
	tcase_add_test(tests, seen_in_show);
	tcase_add_test(tests, ways_of_reg_mr_ex);
	tcase_add_test(tests, on_demand_by_reg_mr_ex);
	tcase_add_test(tests, what_a_descriptor_must_be);
	tcase_add_test(tests, buffers);
	tcase_add_test(tests, traffic);
	tcase_add_test(tests, device_memory_as_descriptor);
}

int main(void)
{
	return fixture_main("verbs_dmah", add);
}
