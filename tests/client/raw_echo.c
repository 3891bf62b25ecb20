// SPDX-License-Identifier: MIT
/* Answers UDP datagrams of a host's kernel by raw packets: raw_echo PORT COUNT. Prints "ready",
 * then a line for each datagram, with what the device said of its checksums. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw_fixture.h"

#define IP  14
#define UDP (IP + 20)

static void swap(uint8_t *a, uint8_t *b, size_t len)
{
	uint8_t kept[16];

	memcpy(kept, a, len);
	memcpy(a, b, len);
	memcpy(b, kept, len);
}

static void answer(struct raw_end *end, const struct raw_wc *wc)
{
	uint8_t *p = end->memory + wc->wr_id * RAW_SLOT;

	printf("%u bytes, checksums %s\n", wc->byte_len,
	       wc->flags & IBV_WC_IP_CSUM_OK ? "good" : "bad");
	fflush(stdout);
	swap(p, p + 6, 6);
	swap(p + IP + 12, p + IP + 16, 4);
	swap(p + UDP, p + UDP + 2, 2);
	/* The device writes the right ones. */
	memset(p + IP + 10, 0xee, 2);
	memset(p + UDP + 6, 0xee, 2);
	ck_assert_int_eq(raw_try_send(end, p, wc->byte_len, IBV_SEND_IP_CSUM), 0);
}

static uint16_t port;
static int count;

START_TEST(echo)
{
	struct raw_flow flow = raw_port_flow(port);
	struct ibv_context *context = fixture_open();
	struct ibv_flow *made;
	struct raw_end end;

	raw_open(&end, context, NULL);
	for (uint64_t i = 0; i < 64; i++)
		raw_post(&end, i);
	made = raw_create(&end, &flow);
	ck_assert_ptr_nonnull(made);
	puts("ready");
	fflush(stdout);
	/* A completion for each datagram and for each answer. */
	for (int left = 2 * count; left > 0; left--) {
		const struct raw_wc wc = raw_wait(&end);

		ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
		if (wc.opcode == IBV_WC_SEND)
			continue;
		answer(&end, &wc);
		raw_post(&end, wc.wr_id);
	}
	ck_assert_int_eq(ibv_destroy_flow(made), 0);
	raw_close(&end);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, echo);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	port = (uint16_t)atoi(argv[1]);
	count = atoi(argv[2]);
	return fixture_main("raw_echo", add);
}
