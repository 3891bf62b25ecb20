/* SPDX-License-Identifier: MIT */
/* Fuzz target: queue pairs with requests in flight, and a peer that answers anything. The oracle is
 * host*.c; beside the responder's checks, requests complete in order, once, and not before a
 * response; READ data is stored where its request says. */
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
	const struct host_setup setup = host_take_setup(&take, RXE_QPS_RTS);
	struct host *host = host_new(&setup);

	script_run(host, &setup, &take, true);
	host_free(host);
	return 0;
}
