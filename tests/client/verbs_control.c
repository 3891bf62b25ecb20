// SPDX-License-Identifier: MIT
/* The control path but for memory: device lists, queries, domains, address handles, import, and a
 * server that goes. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"

int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       unsigned int *type); /* private to rdma-core, and what its tools use */

START_TEST(a_list_may_go_before_its_devices)
{
	struct ibv_device **list, **again;
	struct ibv_context *context;
	int n = -1;

	list = ibv_get_device_list(&n);
	ck_assert_int_eq(n, 1);
	ck_assert_ptr_null(list[1]);
	ck_assert_str_eq(ibv_get_device_name(list[0]), "rxe_dm0");
	ck_assert(ibv_get_device_guid(list[0]) != 0);
	context = ibv_open_device(list[0]);
	again = ibv_get_device_list(NULL);
	ck_assert_ptr_eq(list[0], again[0]);
	ibv_free_device_list(list);
	ibv_free_device_list(again);
	ck_assert_str_eq(context->device->name, "rxe_dm0");
	ck_assert_int_eq(ibv_close_device(context), 0);
	ck_assert_int_eq(ibv_close_device(context), -1);
}
END_TEST

/* Bytes after what the caller's structure has are not ours to write. */
START_TEST(port_attributes_keep_to_their_length)
{
	struct ibv_context *context = fixture_open();
	struct verbs_context *verbs = verbs_get_ctx(context);
	uint8_t bytes[64];

	ck_assert_uint_eq(verbs->sz, 696);
	for (size_t len = 48; len <= 56; len += 4) {
		memset(bytes, 0xee, sizeof(bytes));
		ck_assert_int_eq(verbs->query_port(context, 1, (void *)bytes, len), 0);
		for (size_t i = len; i < sizeof(bytes); i++)
			ck_assert_uint_eq(bytes[i], 0xee);
	}
	memset(bytes, 0xee, sizeof(bytes));
	ck_assert_int_eq((ibv_query_port)(context, 1, (void *)bytes), 0);
	for (size_t i = 48; i < sizeof(bytes); i++)
		ck_assert_uint_eq(bytes[i], 0xee);
	ck_assert_int_eq(((struct ibv_port_attr *)(void *)bytes)->state, IBV_PORT_ACTIVE);
	ck_assert_int_eq(verbs->query_port(context, 2, (void *)bytes, 52), EINVAL);
	ibv_close_device(context);
}
END_TEST

START_TEST(no_operation_is_null)
{
	struct ibv_context *context = fixture_open();
	uint8_t *first = (uint8_t *)context - (696 - sizeof(*context));
	uintptr_t op;

	/* From the first operation to sz, then those of the context itself; _ABI_placeholder3 is no
	 * function. */
	for (size_t at = 0; at < 352; at += sizeof(op)) {
		memcpy(&op, first + at, sizeof(op));
		ck_assert_msg(op != 0, "verbs_context: NULL at %zu", at);
	}
	for (size_t at = 0; at < sizeof(context->ops); at += sizeof(op)) {
		memcpy(&op, (uint8_t *)&context->ops + at, sizeof(op));
		ck_assert_msg(op != 0, "ibv_context_ops: NULL at %zu", at);
	}
	ibv_close_device(context);
}
END_TEST

START_TEST(gid_table)
{
	struct ibv_context *context = fixture_open();
	struct ibv_gid_entry entry, entries[16];
	union ibv_gid gid;
	unsigned int type = 9;
	__be16 pkey;

	ck_assert_int_eq(ibv_query_gid(context, 1, 0, &gid), 0);
	ck_assert_int_eq(ibv_query_gid_ex(context, 1, 0, &entry, 0), 0);
	ck_assert_mem_eq(&entry.gid, &gid, sizeof(gid));
	ck_assert_int_eq(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	ck_assert_uint_eq(entry.ndev_ifindex != 0, 1);
	ck_assert_int_eq(ibv_query_gid_type(context, 1, 0, &type), 0);
	ck_assert_uint_eq(type, 1); /* v2 */

	/* An empty slot. */
	ck_assert_int_eq(ibv_query_gid(context, 1, 15, &gid), 0);
	expect_zero(gid.raw, 16);
	ck_assert_int_eq(ibv_query_gid_type(context, 1, 15, &type), 0);
	ck_assert_uint_eq(type, 0);
	ck_assert_int_eq(ibv_query_gid_ex(context, 1, 15, &entry, 0), ENODATA);
	/* No slot at all. */
	ck_assert_int_eq(ibv_query_gid(context, 1, 16, &gid), -1);
	ck_assert_int_eq(ibv_query_gid(context, 1, -1, &gid), -1);
	ck_assert_int_eq(ibv_query_gid(context, 0, 0, &gid), -1);
	ck_assert_int_eq(ibv_query_gid_ex(context, 1, 16, &entry, 0), EINVAL);
	ck_assert_int_ne(ibv_query_gid_ex(context, 1, 0, &entry, 1), 0);

	ck_assert_int_ge(ibv_query_gid_table(context, entries, 16, 0), 1);
	ck_assert_int_eq(ibv_query_gid_table(context, entries, 0, 0), -EINVAL);
	ck_assert_int_eq(ibv_query_pkey(context, 1, 0, &pkey), 0);
	ck_assert_uint_eq(pkey, 0xffff);
	ck_assert_int_ne(ibv_query_pkey(context, 1, 1, &pkey), 0);
	ck_assert_int_eq(ibv_get_pkey_index(context, 1, htons(0x7fff)), 0);
	ck_assert_int_eq(ibv_get_pkey_index(context, 1, htons(0x1234)), -1);
	ibv_close_device(context);
}
END_TEST

START_TEST(domains)
{
	struct ibv_context *context = fixture_open(), *second = fixture_open();
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = { 0 };
	struct ibv_pd *pd = ibv_alloc_pd(context), *foreign = ibv_alloc_pd(second), *parent, *plain;
	struct ibv_td *td = ibv_alloc_td(context, &td_attr);
	static uint8_t buf[64];
	struct ibv_mr *mr;

	attr.pd = foreign;
	ck_assert_ptr_null(ibv_alloc_parent_domain(context, &attr));
	attr.pd = NULL;
	ck_assert_ptr_null(ibv_alloc_parent_domain(context, &attr));
	attr.pd = pd;
	attr.comp_mask = 1 << 12;
	ck_assert_ptr_null(ibv_alloc_parent_domain(context, &attr));
	attr.comp_mask = 0;
	plain = ibv_alloc_parent_domain(context, &attr);
	attr.td = td;
	parent = ibv_alloc_parent_domain(context, &attr);
	ck_assert_ptr_nonnull(parent);
	mr = ibv_reg_mr(parent, buf, sizeof(buf), 0);
	ck_assert_ptr_nonnull(mr);
	ck_assert_int_eq(ibv_dealloc_td(td), EBUSY);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	ck_assert_int_eq(ibv_dealloc_pd(parent), EBUSY);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), EINVAL);
	ck_assert_int_eq(ibv_dealloc_td(td), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	ck_assert_int_eq(ibv_dealloc_pd(plain), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_dealloc_pd(foreign), 0);
	ibv_close_device(second);
	ibv_close_device(context);
}
END_TEST

START_TEST(address_handles)
{
	struct ibv_context *context = fixture_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_ah_attr good = { .is_global = 1, .port_num = 1 }, attr;
	uint8_t mac[6];
	uint16_t vid;
	struct ibv_ah *ah;

	ck_assert_int_eq(ibv_query_gid(context, 1, 0, &good.grh.dgid), 0);
	attr = good;
	attr.is_global = 0;
	ck_assert_ptr_null(ibv_create_ah(pd, &attr));
	ck_assert_int_eq(errno, EINVAL);
	attr = good;
	attr.port_num = 2;
	ck_assert_ptr_null(ibv_create_ah(pd, &attr));
	attr = good;
	attr.grh.sgid_index = 15; /* empty */
	ck_assert_ptr_null(ibv_create_ah(pd, &attr));
	attr.grh.sgid_index = 16;
	ck_assert_ptr_null(ibv_create_ah(pd, &attr));
	attr = good;
	memset(&attr.grh.dgid, 0, sizeof(attr.grh.dgid));
	ck_assert_ptr_null(ibv_create_ah(pd, &attr));
	ah = ibv_create_ah(pd, &good);
	ck_assert_ptr_nonnull(ah);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	ck_assert_int_eq(ibv_destroy_ah(ah), EINVAL);
	ck_assert_int_eq(ibv_resolve_eth_l2_from_gid(context, &good, mac, &vid), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ibv_close_device(context);
}
END_TEST

static uint16_t sum(const uint8_t *p, size_t n)
{
	uint32_t s = 0;

	for (size_t i = 0; i < n; i += 2)
		s += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

/* A datagram's sender, from the header in front of it. */
START_TEST(address_from_a_completion)
{
	struct ibv_context *context = fixture_open();
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH, .sl = 3 };
	uint8_t grh[40] = { 0 }, *ip = grh + 20;
	struct ibv_ah_attr attr;
	union ibv_gid own;
	uint16_t check;

	ck_assert_int_eq(ibv_query_gid(context, 1, 0, &own), 0);
	ip[0] = 0x45;
	ip[1] = 0x60;
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, (uint8_t[]){ 10, 1, 2, 3 }, 4);
	memcpy(ip + 16, own.raw + 12, 4);
	check = sum(ip, 20);
	ip[10] = (uint8_t)(check >> 8);
	ip[11] = (uint8_t)check;
	ck_assert_int_eq(ibv_init_ah_from_wc(context, 1, &wc, (void *)grh, &attr), 0);
	ck_assert_uint_eq(attr.is_global, 1);
	ck_assert_uint_eq(attr.grh.sgid_index, 0);
	ck_assert_uint_eq(attr.grh.traffic_class, 0x60);
	ck_assert_uint_eq(attr.sl, 3);
	ck_assert_uint_eq(attr.grh.dgid.raw[11], 0xff);
	ck_assert_mem_eq(attr.grh.dgid.raw + 12, ((uint8_t[]){ 10, 1, 2, 3 }), 4);

	ip[9] = 6; /* the checksum is wrong now: no IPv4 header */
	ck_assert_int_eq(ibv_init_ah_from_wc(context, 1, &wc, (void *)grh, &attr), -1);
	wc.wc_flags = 0;
	ck_assert_int_eq(ibv_init_ah_from_wc(context, 1, &wc, (void *)grh, &attr), -1);
	ibv_close_device(context);
}
END_TEST

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* The descriptor goes with the imported context, as the manual page says it may: programs rely on
 * it, and leave it alone. But not the first context's own, nor another one that has got its number
 * since. */
START_TEST(descriptor_of_an_import)
{
	struct ibv_context *context = fixture_open(), *other;
	int fd = dup(context->cmd_fd), next;

	other = ibv_import_device(fd);
	ck_assert_ptr_nonnull(other);
	ck_assert(is_open(fd));
	ck_assert_int_eq(ibv_close_device(other), 0);
	ck_assert(!is_open(fd));

	other = ibv_import_device(context->cmd_fd);
	ck_assert_ptr_nonnull(other);
	ck_assert_int_eq(ibv_close_device(other), 0);
	ck_assert(is_open(context->cmd_fd));

	fd = dup(context->cmd_fd);
	other = ibv_import_device(fd);
	ck_assert_ptr_nonnull(other);
	close(fd);
	next = dup2(STDIN_FILENO, fd);
	ck_assert_int_eq(ibv_close_device(other), 0);
	ck_assert(is_open(next));
	close(next);

	fd = dup(STDIN_FILENO); /* what is refused stays the program's */
	ck_assert_ptr_null(ibv_import_device(fd));
	ck_assert(is_open(fd));
	close(fd);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

START_TEST(imported)
{
	struct ibv_context *context = fixture_open(), *other, *stranger;
	struct ibv_alloc_dm_attr attr = { .length = 256 };
	struct ibv_pd *pd = ibv_alloc_pd(context), *pd2, *wrong;
	struct ibv_dm *dm = ibv_alloc_dm(context, &attr), *dm2;
	static uint8_t buf[64];
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), 0), *mr2;
	uint32_t word = 77, got = 0;

	other = ibv_import_device(context->cmd_fd);
	ck_assert_ptr_nonnull(other);
	pd2 = ibv_import_pd(other, pd->handle);
	mr2 = ibv_import_mr(pd2, mr->handle);
	dm2 = ibv_import_dm(other, dm->handle);
	ck_assert_ptr_nonnull(pd2);
	ck_assert_ptr_nonnull(mr2);
	ck_assert_ptr_nonnull(dm2);
	ck_assert_ptr_null(mr2->addr);
	ck_assert_uint_eq(mr2->lkey, mr->lkey);
	ck_assert_uint_eq(mr2->length, sizeof(buf));
	ck_assert_int_eq(ibv_rereg_mr(mr2, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	ck_assert_int_eq(ibv_memcpy_to_dm(dm, 8, &word, 4), 0);
	ck_assert_int_eq(ibv_memcpy_from_dm(&got, dm2, 8, 4), 0);
	ck_assert_uint_eq(got, 77);

	errno = 0;
	ck_assert_ptr_null(ibv_import_pd(other, mr->handle)); /* another kind */
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_ptr_null(ibv_import_dm(other, 0x7fffffff));
	wrong = ibv_alloc_pd(other); /* of the same context, but not the region's */
	ck_assert_ptr_nonnull(wrong);
	ck_assert_ptr_null(ibv_import_mr(wrong, mr->handle));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_dealloc_pd(wrong), 0);
	ck_assert_ptr_null(ibv_import_device(STDIN_FILENO));
	ck_assert_ptr_null(ibv_import_device(-1));

	stranger = fixture_open(); /* a context of its own has none of these */
	errno = 0;
	ck_assert_ptr_null(ibv_import_pd(stranger, pd->handle));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_ptr_null(ibv_import_dm(stranger, dm->handle));
	ck_assert_int_eq(ibv_close_device(stranger), 0);

	ibv_unimport_mr(mr2);
	ibv_unimport_pd(pd2);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
	ck_assert_int_eq(ibv_memcpy_from_dm(&got, dm2, 8, 4), EINVAL); /* freed by the other */
	ibv_unimport_dm(dm2);
	ibv_unimport_dm(dm2);
	ck_assert_int_eq(ibv_close_device(other), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

/* Everything can still be tidied up, and the next list finds the next server. */
START_TEST(the_server_goes)
{
	struct ibv_context *context = fixture_open(), *fresh;
	struct ibv_pd *pd = ibv_alloc_pd(context);
	static uint8_t buf[64];
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), 0);
	char stop[512];

	snprintf(stop, sizeof(stop), "%s stop >/dev/null", getenv("RXE_TEST_COMMAND"));
	ck_assert_int_eq(unsetenv("LD_PRELOAD"), 0); /* a sanitizer, not for the shell */
	ck_assert_int_eq(system(stop), 0);
	expect_event(context, IBV_EVENT_DEVICE_FATAL);
	ck_assert_ptr_null(ibv_alloc_pd(context));
	ck_assert_int_eq(errno, ENODEV);
	ck_assert_ptr_null(ibv_reg_mr(pd, buf, sizeof(buf), 0));
	fresh = fixture_open();
	ck_assert_ptr_nonnull(fresh);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
	pd = ibv_alloc_pd(fresh);
	ck_assert_ptr_nonnull(pd);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(fresh), 0);
}
END_TEST

/* What a program forgot to destroy goes with its context, and is a stranger afterwards. */
START_TEST(forgotten_objects)
{
	struct ibv_context *context = fixture_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	static uint8_t buf[64];
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), 0);

	ck_assert_int_eq(ibv_close_device(context), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), EINVAL);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EINVAL);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, a_list_may_go_before_its_devices);
	tcase_add_test(tests, port_attributes_keep_to_their_length);
	tcase_add_test(tests, no_operation_is_null);
	tcase_add_test(tests, gid_table);
	tcase_add_test(tests, domains);
	tcase_add_test(tests, address_handles);
	tcase_add_test(tests, address_from_a_completion);
	tcase_add_test(tests, descriptor_of_an_import);
	tcase_add_test(tests, imported);
	tcase_add_test(tests, the_server_goes);
	tcase_add_test(tests, forgotten_objects);
}

int main(void)
{
	return fixture_main("verbs_control", add);
}
