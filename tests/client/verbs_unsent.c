// SPDX-License-Identifier: MIT
/* Datagrams that the device cannot send: `verbs_unsent` prints how many it posted, in two lives of
 * the device in one process. The case compares that with the device's counter. */
#include <stdio.h>

#include "fixture.h"

#define PER_LIFE 5u

static const struct end_cfg datagram = { .type = IBV_QPT_UD };

/* An address of a reserved block, which no interface reaches from a loopback address. */
static void post_unsent(struct end *end)
{
	const struct end_address nowhere = {
		.gid.raw = { [10] = 0xff, [11] = 0xff, 240, 0, 0, 1 },
		.qpn = 0x123456,
	};

	end_connect(end, &nowhere);
	for (uint32_t i = 0; i < PER_LIFE; i++) {
		end_post(end, IBV_WR_SEND, i, 0, 64);
		end_wait_for(end, i, IBV_WC_SUCCESS);
	}
}

START_TEST(two_lives)
{
	struct end end;

	for (uint32_t life = 0; life < 2; life++) {
		end_open(&end, NULL, &datagram);
		post_unsent(&end);
		end_close(&end);
	}
	printf("unsent: %u\n", 2 * PER_LIFE);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, two_lives);
}

int main(void)
{
	return fixture_main("verbs_unsent", add);
}
