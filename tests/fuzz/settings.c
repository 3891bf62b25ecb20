/* SPDX-License-Identifier: MIT */
/* Fuzz target: settings, as options of the command. Each line is an argument. A value is accepted
 * whole and within its bounds, or refused with one line that says why. */
#include <unistd.h>

#include "lib/control/log.h"
#include "lib/control/settings.h"
#include "rxe_dm/command/command.h"
#include "tests/fuzz/target.h"

#define MAX_ARGS 32

const struct command command_table[] = {
	{ .name = "start", .arguments = "", .summary = "", .settings = COMMAND_STARTS },
	{ .name = "fault", .arguments = "", .summary = "", .settings = COMMAND_MAY_START },
	{ .name = "show", .arguments = "", .summary = "", .settings = COMMAND_FINDS },
};
const size_t command_count = 3;

static size_t lines;

static void take_line(enum ctl_log_level level, const char *line)
{
	(void)level;
	MUST(line[0] && !strchr(line, '\n'));
	lines++;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	MUST(freopen("/dev/null", "w", stdout));
	ctl_log_to(take_line);
	return 0;
}

static void check_bounds(struct ctl_settings settings)
{
	char why[CTL_WHY_MAX], text[CTL_GID_STR_MAX];
	struct gid again;

	MUST(memchr(settings.instance, '\0', sizeof(settings.instance)) && settings.instance[0]);
	MUST(!strchr(settings.instance, '/'));
	MUST(settings.num_addresses <= CTL_DEVICE_MAX && settings.devices <= CTL_DEVICE_MAX);
	MUST(settings.slots >= 2 && settings.slots <= RXE_MAX_SLOTS);
	MUST(settings.linger_s <= 1000000);
	MUST(settings.arena_bytes >= 64u << 10 && settings.arena_bytes <= 1ull << 40);
	for (uint32_t i = 0; i < settings.num_addresses; i++) {
		MUST(ctl_gid_parse(&again, ctl_gid_str(&settings.address[i], text)));
		MUST(gid_equal(&again, &settings.address[i]));
		for (uint32_t k = 0; k < i; k++)
			MUST(!gid_equal(&settings.address[i], &settings.address[k]));
	}
	if (ctl_settings_check(&settings, why))
		MUST(settings.devices >= 1 && settings.devices <= CTL_DEVICE_MAX);
	else
		MUST(memchr(why, '\0', sizeof(why)) && why[0]);
}

static void parse(int argc, char **argv)
{
	bool foreground = false;
	uint64_t count = 1;
	const struct command_option own[] = {
		{ .name = "foreground", .help = "stay", .given = &foreground },
		{ .name = "quiet" },
		{ .name = "count", .number = &count, .min = 1, .max = 9, .prefix = "rxe_dm" },
		{ 0 },
	};
	struct command_options options;

	lines = 0;
	(void)clearenv(); /* options of the last input */
	switch (options_parse(&options, argc, argv, own)) {
	case OPTIONS_OK:
		MUST(lines == 0 && options.rest >= 1 && options.rest <= argc);
		MUST(count >= 1 && count <= 9);
		check_bounds(options.settings);
		return;
	case 0: return; /* help */
	default: MUST(lines == 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char start[] = "start", fault[] = "fault", show[] = "show";
	char *argv[MAX_ARGS + 1] = { start }, *copies[MAX_ARGS];
	int argc = 1;

	/* Commands accept different settings. */
	if (size && (data[0] == '@' || data[0] == '!')) {
		argv[0] = data[0] == '@' ? fault : show;
		data++;
		size--;
	}
	while (size > 0 && argc < MAX_ARGS) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t len = end ? (size_t)(end - data) : size;

		/* Each in a block of its exact length. */
		copies[argc] = argv[argc] = exact_string(data, len);
		argc++;
		len += end ? 1 : 0;
		data += len;
		size -= len;
	}
	parse(argc, argv);
	while (--argc > 0)
		free(copies[argc]);
	return 0;
}
