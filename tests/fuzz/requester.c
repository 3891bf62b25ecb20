/* SPDX-License-Identifier: MIT */
/* Fuzz target: queue pairs with requests under way, and a peer that answers what it likes. Beside what host*.c looks at in the responder:
 * requests complete in order, once, and not before an answer came; what comes back lands where its request wanted it. */
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
