/* SPDX-License-Identifier: MIT */
/* Fuzz target: what rxe_dm show prints of shared memory that processes write. For any content it
 * ends, its tables contain nothing but text for a terminal, and its JSON is valid. */
#include <jansson.h>
#include <sys/mman.h>

#include "rxe_dm/command/view.h"
#include "tests/fuzz/target.h"

#define SLOTS	    4u
#define MAX_OBJECTS 8u
#define MAX_STEPS   60u
#define MOST_TEXT   (8u << 20)

enum step {
	STEP_SLOT,    /* bytes of a slot */
	STEP_KEPT,    /* bytes of the records of former processes */
	STEP_FAILURE, /* a plausible failure */
	STEP_OBJECT,
	STEP_INFO, /* bytes of what the server says of its device, except texts and profile */
	SHOW_STEPS,
};

static struct ctl_shared *shared;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MUST(shared != MAP_FAILED);
	return 0;
}

static void take_block(struct take *take, void *to, size_t size)
{
	size_t at = take_u16(take), n = take_u8(take);

	for (; n > 0; n--, at++) {
		const uint8_t byte = take_u8(take);

		if (at < size)
			((uint8_t *)to)[at] = byte;
	}
}

static struct ctl_slot *take_slot(struct take *take)
{
	struct ctl_slot *slot = &shared->slot[take_u8(take) % SLOTS];

	atomic_store(&slot->pid, 1 + take_u8(take));
	return slot;
}

static void spoil_slot(struct take *take)
{
	static const size_t parts[] = {
		offsetof(struct ctl_slot, inside), offsetof(struct ctl_slot, counters),
		offsetof(struct ctl_slot, qp),	   offsetof(struct ctl_slot, failures),
		offsetof(struct ctl_slot, faults), offsetof(struct ctl_slot, time_wait)
	};
	struct ctl_slot *slot = take_slot(take);
	const size_t part = parts[take_u8(take) % (sizeof(parts) / sizeof(parts[0]))];

	take_block(take, (uint8_t *)slot + part, sizeof(*slot) - part);
}

/* Texts that may be too long to be terminated, packets of any operation. */
static void add_failure(struct take *take)
{
	struct ctl_slot *slot = take_slot(take);
	const uint8_t place = take_u8(take), why = take_u8(take);
	struct ctl_failure *failure = &slot->failures.at[place % CTL_FAILURES_OF_SLOT];

	*failure = (struct ctl_failure){ .qpn = 0x10002, .has_wr = place & 8, .watched = 1 };
	failure->status = take_u8(take);
	failure->type = take_u8(take);
	failure->num_packets = take_u8(take);
	for (uint32_t i = 0; i < CTL_FAILURE_PACKETS && i < failure->num_packets; i++) {
		struct tail_packet *packet = &failure->packet[i];

		packet->len = take_u8(take);
		packet->head[0] = take_u8(take);
		packet->head[12] = take_u8(take);
		packet->skipped = take_u8(take);
	}
	memset(failure->comm, 'x', sizeof(failure->comm));
	memset(failure->why, why, sizeof(failure->why));
	atomic_store(&slot->failures.count, place);
}

static void one_step(struct take *take, struct view_device *device)
{
	switch ((enum step)(take_u8(take) % SHOW_STEPS)) {
	case STEP_SLOT: spoil_slot(take); return;
	case STEP_KEPT: take_block(take, &shared->failures, sizeof(shared->failures)); return;
	case STEP_FAILURE: add_failure(take); return;
	case STEP_OBJECT:
		if (device->num_objects == MAX_OBJECTS)
			return;
		take_block(take, &device->objects[device->num_objects++],
			   sizeof(struct ctl_object));
		return;
	case STEP_INFO: /* the server terminates the texts, and checks the profile */
		take_block(take, &device->info.node_guid,
			   offsetof(struct ctl_device, if_name) -
				   offsetof(struct ctl_device, node_guid));
		return;
	case SHOW_STEPS: return;
	}
}

/* Strings of JSON may contain DEL. */
static void is_plain(const char *text, size_t len, char not_even)
{
	MUST(len < MOST_TEXT && strlen(text) == len);
	for (size_t i = 0; i < len; i++)
		MUST(text[i] == '\n' || ((uint8_t)text[i] >= ' ' && text[i] != not_even));
}

static void show_all(const struct view *view)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	json_t *json;

	MUST(to);
	show_table(view, to);
	(void)show_packets(view, 0, to);
	(void)show_packets(view, 0x10002, to);
	MUST(fclose(to) == 0);
	is_plain(text, len, 0x7f);
	free(text);

	to = open_memstream(&text, &len);
	MUST(to && show_json(view, to) == 0 && fclose(to) == 0);
	is_plain(text, len, '\0');
	json = json_loads(text, 0, NULL);
	MUST(json && json_array_size(json_object_get(json, "devices")) == 1);
	json_decref(json);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct take take = { data, size };
	struct ctl_object objects[MAX_OBJECTS] = { 0 };
	static struct view view;
	struct view_device *device = &view.device[0];

	view.num_devices = 1;
	*device = (struct view_device){ .shared = shared, .objects = objects };
	ctl_profile_init(&device->info.profile);
	for (uint32_t i = 0; i < MAX_STEPS && take.left > 0; i++)
		one_step(&take, device);
	show_all(&view);
	for (uint32_t i = 0; i < SLOTS; i++)
		memset(&shared->slot[i], 0, sizeof(shared->slot[i]));
	memset(&shared->failures, 0, sizeof(shared->failures));
	return 0;
}
