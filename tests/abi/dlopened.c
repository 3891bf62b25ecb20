// SPDX-License-Identifier: MIT
/* The library as programs find it that dlopen it and ask for symbols by their nodes: NCCL, gloo,
 * bindings of other languages. With no server reachable (the instance's name is one that no server
 * can take) the device list is empty, and nothing crashes. */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/abi/newer.h"

static void *lib;

static void *sym(const char *name, const char *node)
{
	void *p = dlvsym(lib, name, node);

	ck_assert_msg(p != NULL, "%s@%s: %s", name, node, dlerror());
	return p;
}

START_TEST(nodes_are_contract)
{
	sym("ibv_get_device_list", "IBVERBS_1.1");
	sym("ibv_reg_mr_iova2", "IBVERBS_1.8");
	sym("ibv_reg_dmabuf_mr", "IBVERBS_1.12");
	sym("ibv_query_ece", "IBVERBS_1.10");
	sym("ibv_create_comp_channel", "IBVERBS_1.0");
	sym("ibv_cmd_create_qp", "IBVERBS_PRIVATE_34");
	sym("verbs_register_driver_59", "IBVERBS_PRIVATE_59");
}
END_TEST

START_TEST(default_is_the_newest)
{
	ck_assert_ptr_eq(dlsym(lib, "ibv_get_device_list"),
			 sym("ibv_get_device_list", "IBVERBS_1.1"));
	ck_assert_ptr_ne(sym("ibv_get_device_list", "IBVERBS_1.0"),
			 sym("ibv_get_device_list", "IBVERBS_1.1"));
}
END_TEST

START_TEST(the_old_abi_refuses)
{
	void *(*list)(int *) =
		(void *(*)(int *))(uintptr_t)sym("ibv_get_device_list", "IBVERBS_1.0");
	int (*close_device)(void *) =
		(int (*)(void *))(uintptr_t)sym("ibv_close_device", "IBVERBS_1.0");

	errno = 0;
	ck_assert_ptr_null(list(NULL));
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(close_device(NULL), -1);
}
END_TEST

START_TEST(private_functions_never_pretend)
{
	int (*alloc_pd)(void) =
		(int (*)(void))(uintptr_t)sym("ibv_cmd_alloc_pd", "IBVERBS_PRIVATE_34");
	void *(*open_device)(void) =
		(void *(*)(void))(uintptr_t)sym("verbs_open_device", "IBVERBS_PRIVATE_65");

	ck_assert_int_eq(alloc_pd(), EOPNOTSUPP);
	ck_assert_ptr_null(open_device());
}
END_TEST

START_TEST(strangers_are_refused)
{
	char stranger[1024] = { 0 };
	struct ibv_pd *pd = (void *)stranger;

	ck_assert_ptr_null(ibv_open_device(NULL));
	ck_assert_ptr_null(ibv_open_device((void *)stranger));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_close_device(NULL), -1);
	ck_assert_ptr_null(ibv_alloc_pd(NULL));
	ck_assert_int_eq(ibv_dealloc_pd(pd), EINVAL);
	ck_assert_ptr_null(ibv_reg_mr(pd, stranger, sizeof(stranger), IBV_ACCESS_LOCAL_WRITE));
	ck_assert_int_eq(ibv_dereg_mr((void *)stranger), EINVAL);
	ck_assert_ptr_null(ibv_create_ah(pd, NULL));
	ck_assert_int_eq(ibv_destroy_ah(NULL), EINVAL);
	ck_assert_int_eq(ibv_query_device(NULL, NULL), EINVAL);
	ck_assert_int_ne(ibv_query_gid(NULL, 1, 0, NULL), 0);
	ck_assert_ptr_null(ibv_get_device_name(NULL));
	ck_assert_ptr_null(ibv_import_device(-1));
	ck_assert_int_eq(errno, EBADF);
	ibv_free_device_list(NULL);
}
END_TEST

START_TEST(names_and_rates)
{
	ck_assert_str_eq(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR),
			 "transport retry counter exceeded");
	ck_assert_str_eq(ibv_wc_status_str((enum ibv_wc_status)99), "unknown");
	ck_assert_str_eq(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
	ck_assert_str_eq(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
	ck_assert_int_eq(ibv_rate_to_mult(IBV_RATE_40_GBPS), 16);
	ck_assert_int_eq(mult_to_ibv_rate(16), IBV_RATE_40_GBPS);
	ck_assert_int_eq(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	ck_assert_int_eq(mbps_to_ibv_rate(103125), IBV_RATE_100_GBPS);
	ck_assert_int_eq(mult_to_ibv_rate(-1), IBV_RATE_MAX);
	ck_assert_int_eq(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	ck_assert_int_eq(ibv_fork_init(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dlopened");
	TCase *tcase = tcase_create("abi");
	SRunner *runner = srunner_create(suite);
	int failed;

	lib = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return EXIT_FAILURE;
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, nodes_are_contract);
	tcase_add_test(tcase, default_is_the_newest);
	tcase_add_test(tcase, the_old_abi_refuses);
	tcase_add_test(tcase, private_functions_never_pretend);
	tcase_add_test(tcase, strangers_are_refused);
	tcase_add_test(tcase, names_and_rates);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
