// SPDX-License-Identifier: MIT
/* Memory links for tests. */
#include "tests/unit/memory_fixture.h"

#include <check.h>
#include <poll.h>
#include <string.h>

#include "net/wire/icrc.h"
#include "net/wire/packet.h"

struct memory_hub hub;
static struct memory_bell bells[SLOTS];
struct link *a, *b;
struct wire_train train;
uint8_t buf[TRAIN_MAX_BYTES];
struct wire_arrival got[256];

const struct gid gid = { .raw = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } };
const struct gid group = { .raw = { [10] = 0xff, [11] = 0xff, 224, 1, 2, 3 } };

struct memory_cfg cfg_of(uint32_t slot)
{
	ck_assert_int_eq(memory_hub_attach(&hub, slot), 0);
	return (struct memory_cfg){ .gid = gid,
				    .slot = slot,
				    .hub_fd = hub.fd,
				    .file_fd = hub.slot[slot].fd,
				    .doorbell_fd = hub.slot[slot].doorbell,
				    .bells = hub.bells,
				    .meet = memory_hub_meet,
				    .meet_arg = &hub,
				    .trains = true };
}

struct link *open_with(const struct memory_cfg *cfg)
{
	struct link *link;

	ck_assert_int_eq(memory_open(&link, cfg), 0);
	return link;
}

struct link *resume_slot(uint32_t slot)
{
	const struct memory_cfg cfg = { .gid = gid,
					.slot = slot,
					.hub_fd = hub.fd,
					.file_fd = hub.slot[slot].fd,
					.file = hub.slot[slot].file,
					.doorbell_fd = hub.slot[slot].doorbell,
					.bells = hub.bells,
					.meet = memory_hub_meet,
					.meet_arg = &hub,
					.trains = true };

	return open_with(&cfg);
}

struct link *open_slot(uint32_t slot)
{
	const struct memory_cfg cfg = cfg_of(slot);

	return open_with(&cfg);
}

void setup(void)
{
	ck_assert_int_eq(memory_hub_open(&hub, SLOTS, 0x9e3779b97f4a7c15), 0);
	hub.bells = bells;
	a = open_slot(A);
	b = open_slot(B);
}

void teardown(void)
{
	link_close(a);
	link_close(b);
	memory_hub_close(&hub);
}

void make_train(uint32_t from, uint32_t to, uint32_t segs, uint32_t len, uint32_t last)
{
	const struct icrc_flow flow = {
		.src = gid,
		.dst = gid,
		.src_port = (uint16_t)(MEMORY_FIRST_PORT + from * LINK_TX_PORTS),
	};

	train = (struct wire_train){
		.buf = buf, .max_segs = TRAIN_MAX_SEGS, .no_icrc = true, .src = gid, .dst = gid
	};
	for (uint32_t i = 0; i < segs; i++) {
		const uint32_t n = i + 1 == segs ? last : len;
		uint8_t *p = wire_train_add(&train, n);

		ck_assert_ptr_nonnull(p);
		memset(p, (int)i, n);
		if (n < BTH_LEN + ICRC_LEN)
			continue;
		p[5] = (uint8_t)to;
		icrc_store(p + n - ICRC_LEN, icrc_compute(&flow, (uint16_t)i, p, n - ICRC_LEN));
	}
}

void send_ok(struct link *link)
{
	ck_assert_int_eq(link_send(link, &train, 1), 1);
}

void expect_packets(struct link *link, uint32_t n)
{
	ck_assert_int_eq(link_receive(link, got, 256), (int)n);
}

bool is_readable(struct link *link)
{
	struct pollfd fd = { .fd = link_wait_fd(link), .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}
