/* SPDX-License-Identifier: MIT */
/* Fuzz target: a peer that sends anything to queue pairs of every type that only receive. The
 * oracle is host*.c: no access without the right, no effect of an old or early request, each
 * receive completes once, responses are sound. */
#include "tests/fuzz/script.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct take take = { data, size };
	const struct host_setup setup = host_take_setup(&take, RXE_QPS_RTR);
	struct host *host = host_new(&setup);

	for (uint32_t i = 0; i < 2 * HOST_QPS; i++)
		host_recv(host, (enum host_qp_name)(i % HOST_QPS), 300, i / HOST_QPS);
	script_run(host, &setup, &take, false);
	host_free(host);
	return 0;
}
