/* SPDX-License-Identifier: MIT */
/* Fuzz target: what a process reads of a memory link. Another process of the device sends trains,
 * and writes any bytes to everything that it may write: its file, with its rings and positions.
 * Slots get new processes. The reader's arrivals lie within the ring, their headers do not change,
 * senders and waits do not hang, and a third process is not disturbed. */
#include <sys/mman.h>
#include <unistd.h>

#include "net/link/memory/private.h"
#include "net/wire/packet.h"
#include "tests/fuzz/target.h"

#define SLOTS	  3u
#define READER	  0u
#define LIAR	  1u
#define HONEST	  2u
#define MAX_STEPS 48u
#define ARRIVALS  96u

static struct memory_hub hub;
static struct memory_bell bells[SLOTS];
static struct link *link_of[SLOTS];
static struct memory_slot_page *liar; /* all that it may write */
static uint8_t bytes[TRAIN_MAX_BYTES];
static const struct gid gid = { .raw = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } };

static void open_link(uint32_t slot)
{
	MUST(memory_hub_attach(&hub, slot) == 0);

	const struct memory_cfg cfg = { .gid = gid,
					.slot = slot,
					.hub_fd = hub.fd,
					.file_fd = hub.slot[slot].fd,
					.doorbell_fd = hub.slot[slot].doorbell,
					.bells = hub.bells,
					.meet = memory_hub_meet,
					.meet_arg = &hub,
					.trains = true };

	MUST(memory_open(&link_of[slot], &cfg) == 0);
}

static void open_all(void)
{
	MUST(memory_hub_open(&hub, SLOTS, 0x9e3779b97f4a7c15) == 0);
	hub.bells = bells;
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		open_link(slot);
	liar = hub.slot[LIAR].file;
}

/* Another process takes a slot, with or without the server in between. */
static void replace(struct take *take)
{
	const uint8_t what = take_u8(take);
	const uint32_t slot = what & 1 ? LIAR : READER;

	link_close(link_of[slot]);
	if (what & 6)
		memory_hub_detach(&hub, slot);
	if (what & 4)
		(void)memory_hub_reap(&hub, slot);
	open_link(slot);
	if (slot == LIAR)
		liar = hub.slot[LIAR].file;
}

/* Each input has a file of its own: positions never fall. */
static void close_all(void)
{
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		link_close(link_of[slot]);
	memory_hub_close(&hub);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static struct wire_train make_train(uint32_t to, uint32_t segs, uint32_t len)
{
	struct wire_train train = {
		.buf = bytes, .max_segs = TRAIN_MAX_SEGS, .no_icrc = true, .src = gid, .dst = gid
	};

	for (uint32_t i = 0; i < segs && wire_train_add(&train, len); i++)
		wire_train_packet(&train, i)[5] = (uint8_t)to;
	return train;
}

static void send_well(struct take *take)
{
	const struct wire_train train =
		make_train(take_u8(take) % SLOTS, 1 + take_u8(take) % 20, 16 + take_u8(take) * 16u);
	const int sent = link_send(link_of[LIAR], &train, 1);

	MUST(sent == 1 || sent < 0);
}

/* Anything, anywhere that the liar may write. */
static void write_badly(struct take *take)
{
	const uint8_t where = take_u8(take);
	struct memory_pair *pair = &liar->pair[where % SLOTS];
	uint8_t *ring = memory_ring(liar, where % SLOTS);
	uint64_t value = take_bytes(take, where & 0x80 ? 8 : 2);

	switch (where >> 2 & 7) {
	case 0: atomic_store(&pair->tail, value); return;
	case 1: atomic_fetch_add(&pair->tail, value); return;
	case 2: atomic_store(&pair->head, value); return;
	case 3: atomic_store(&liar->armed, (uint32_t)value); return;
	case 5: atomic_store(&liar->num_groups, (uint32_t)value); return;
	case 6:
		atomic_store(where & 0x20 ? &pair->tail_epoch : &pair->head_epoch, (uint32_t)value);
		return;
	default: break;
	}
	/* Near the last record, where heads are. */
	if (where & 0x40)
		value += atomic_load(&pair->tail) & ~(uint64_t)(RING_ALIGN - 1);
	for (uint8_t n = take_u8(take); n > 0; n--)
		ring[value++ % RING_BYTES] = take_u8(take);
}

/* Reads every byte of each arrival; meanwhile the sender changes all of them. */
static void receive(struct link *link)
{
	struct wire_arrival got[ARRIVALS];
	uint8_t headers[ARRIVALS][WIRE_MAX_HEADERS];
	const int n = link_receive(link, got, ARRIVALS);
	uint32_t sum = 0;

	MUST(n >= 0 && n <= (int)ARRIVALS);
	for (int i = 0; i < n; i++) {
		MUST(got[i].len > 0 && got[i].len <= TRAIN_MAX_BYTES);
		for (uint32_t at = 0; at < got[i].len; at++)
			sum += got[i].p[at];
		if (got[i].headers)
			memcpy(headers[i], got[i].headers, WIRE_MAX_HEADERS);
	}
	memset(memory_ring(liar, READER), (int)(sum & 0xff), 8192);
	for (int i = 0; i < n; i++)
		MUST(!got[i].headers || memcmp(headers[i], got[i].headers, WIRE_MAX_HEADERS) == 0);
}

static void wait_and_end(struct link *link)
{
	(void)link_wait_begins(link);
	link_wait_ended(link, true);
}

static void others_go_on(void)
{
	const struct wire_train train = make_train(READER, 3, 64);
	struct wire_arrival got[ARRIVALS];
	bool found = false;

	MUST(link_send(link_of[HONEST], &train, 1) == 1);
	for (int i = 0; i < 400 && !found; i++) {
		const int n = link_receive(link_of[READER], got, ARRIVALS);

		for (int k = 0; k < n; k++)
			found |= got[k].src_port == MEMORY_FIRST_PORT + HONEST * LINK_TX_PORTS &&
				 got[k].len == 64;
	}
	MUST(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct take take = { data, size };

	open_all();
	MUST(link_complete_arrivals(link_of[READER], take_u8(&take) & 1) == 0);
	for (uint32_t i = 0; i < MAX_STEPS && take.left > 0; i++) {
		switch (take_u8(&take) % 7) {
		case 0: send_well(&take); break;
		case 1:
		case 2: write_badly(&take); break;
		case 3: receive(link_of[READER]); break;
		case 4: receive(link_of[LIAR]); break;
		case 5: wait_and_end(link_of[READER]); break;
		case 6: replace(&take); break;
		}
	}
	others_go_on();
	close_all();
	return 0;
}
