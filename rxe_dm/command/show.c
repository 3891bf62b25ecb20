// SPDX-License-Identifier: MIT
/* rxe_dm show: prints devices and their users, once or each second. Starts and keeps no server. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/control/connection.h"
#include "lib/control/profile.h"
#include "net/link/clock.h"
#include "rxe_dm/command/command.h"
#include "rxe_dm/command/findings.h"
#include "rxe_dm/command/show_rates.h"
#include "rxe_dm/command/view.h"

struct show {
	bool json, watch;
	bool features, limits;
	bool lab;
	bool packets; /* of failed queue pairs only */
	uint32_t qpn; /* ... of this one; 0: of all */
	bool findings, checks;
	uint64_t every_ms; /* of watch */
};

enum state {
	WORKS,
	PARTLY,
	REFUSED,
};

/* A section has a title only. */
struct feature {
	const char *title, *library, *function;
	enum state state;
	const char *note;
};

#define SECTION(title)				{ title, NULL, NULL, WORKS, "" },
#define FEATURE(library, function, state, note) { NULL, #library, #function, state, note },
static const struct feature features[] = {
#include "features.inc"
};
#define NUM_FEATURES (sizeof(features) / sizeof(features[0]))

static const char *state_str(enum state state)
{
	switch (state) {
	case WORKS: return "works";
	case PARTLY: return "partly";
	case REFUSED: return "refused";
	}
	return "?";
}

/* What each function of the libraries does (lib/abi/features.tsv). */
static void print_features(void)
{
	for (size_t i = 0; i < NUM_FEATURES; i++) {
		const struct feature *feature = &features[i];

		if (feature->title)
			printf("%s%s\n", i ? "\n" : "", feature->title);
		else if (!*feature->note)
			printf("  %-43s%s\n", feature->function, state_str(feature->state));
		else
			printf("  %-43s%-8s %s\n", feature->function, state_str(feature->state),
			       feature->note);
	}
}

static int print_features_json(void)
{
	json_t *all = json_array();
	int rc = all ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < NUM_FEATURES; i++) {
		const struct feature *feature = &features[i];

		if (feature->title)
			continue;
		if (json_array_append_new(
			    all, json_pack("{s:s, s:s, s:s, s:s}", "library", feature->library,
					   "function", feature->function, "state",
					   state_str(feature->state), "note", feature->note)))
			rc = -ENOMEM;
	}
	if (!rc && json_dumpf(all, stdout, JSON_INDENT(2)))
		rc = -EPIPE;
	json_decref(all);
	if (!rc)
		putchar('\n');
	return rc;
}

/* The profile of the instance, in the format of its file. */
static void print_limits(const struct view *view)
{
	const struct ctl_profile *profile = &view->device[0].info.profile;
	char value[CTL_PROFILE_TEXT];

	printf("# profile %s\n", profile->name);
	for (size_t i = 0; i < ctl_key_count; i++)
		printf("%s = %s\n", ctl_key_table[i].key,
		       ctl_key_value(&ctl_key_table[i], profile, value));
}

static void print_packets(const struct view *view, uint32_t qpn)
{
	if (show_packets(view, qpn, stdout))
		return;
	if (qpn)
		printf("QP 0x%06x has not entered error by itself lately\n", qpn);
	else
		printf("no queue pair has entered error by itself lately\n");
}

static int show_once(struct ctl_client *client, const struct show *show)
{
	static struct show_rates rates;
	static struct view view;
	int rc = view_take(&view, client);

	if (rc)
		return rc;
	if (show->watch && !show->json) {
		printf("\033[H\033[2J");
		show_rates(&rates, &view, clock_now_ns(), stdout);
		putchar('\n');
	}
	if (show->json)
		rc = show_json(&view, stdout);
	else if (show->limits)
		print_limits(&view);
	else if (show->packets)
		print_packets(&view, show->qpn);
	else
		show_table(&view, stdout);
	if (fflush(stdout))
		rc = -EPIPE;
	view_drop(&view);
	return rc;
}

static int show(struct ctl_client *client, const struct show *show)
{
	const struct timespec pause = { .tv_sec = (time_t)(show->every_ms / 1000),
					.tv_nsec = (long)(show->every_ms % 1000) * 1000000 };
	int rc;

	do {
		rc = show_once(client, show);
	} while (rc == 0 && show->watch && nanosleep(&pause, NULL) == 0);
	if (rc == -ENODEV && show->watch)
		return 0; /* the server has ended */
	if (rc && rc != -EPIPE)
		fprintf(stderr, "rxe_dm: the device server does not answer: %s\n", strerror(-rc));
	return rc ? 1 : 0;
}

static int none_running(const char *instance, bool json)
{
	if (json)
		printf("{\n  \"instance\": \"%s\",\n  \"devices\": []\n}\n", instance);
	else
		printf("instance '%s' is not running: the first program started with 'rxe_dm run', "
		       "or 'rxe_dm start', starts it\n",
		       instance);
	return 0;
}

/* Reads a QP number: six hexadecimal digits, as in tables, or any C number. False: explained. */
static bool read_qpn(const char *text, uint32_t *ret)
{
	const bool hexadecimal = strlen(text) == 6 && strspn(text, "0123456789abcdefABCDEF") == 6;
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, hexadecimal ? 16 : 0);
	if (errno || *end || end == text || value == 0 || value > 0xffffff) {
		fprintf(stderr,
			"rxe_dm: show --packets expects a QP number, such as 0x021001, or nothing, "
			"not '%s'\n",
			text);
		return false;
	}
	*ret = (uint32_t)value;
	return true;
}

/* Lists features of the libraries, whether an instance runs or not. */
static int list_features(const struct show *show)
{
	int rc = 0;

	if (show->json)
		rc = print_features_json();
	else
		print_features();
	return rc || fflush(stdout) ? 1 : 0;
}

/* Becomes 'rxe_dm lab show'. */
static int show_lab(const struct show *show)
{
	char lab[] = "lab", word[] = "show", json[] = "--json";
	char *argv[] = { lab, word, show->json ? json : NULL, NULL };

	return command_lab(show->json ? 3 : 2, argv);
}

int command_show(int argc, char **argv)
{
	struct show what = { .every_ms = 1000 };
	const struct command_option own[] = {
		{ .name = "json", .help = "as JSON, with everything in it", .given = &what.json },
		{ .name = "watch",
		  .help = "repeat every second, until Ctrl-C",
		  .given = &what.watch },
		{ .name = "every",
		  .argument = "MS",
		  .help = "with --watch: milliseconds between two views, default 1000",
		  .number = &what.every_ms,
		  .min = 10,
		  .max = 3600000 },
		{ .name = "features",
		  .help = "what each function of libibverbs and libmlx5 does",
		  .given = &what.features },
		{ .name = "limits",
		  .help = "what the devices offer, as a profile for --profile",
		  .given = &what.limits },
		{ .name = "packets",
		  .argument = "[QPN]",
		  .help = "the last packets of queue pairs that failed, and why",
		  .given = &what.packets },
		{ .name = "lab",
		  .help = "the hosts of a lab (rxe_dm lab) and their devices",
		  .given = &what.lab },
		{ .name = "findings",
		  .help = "what programs that ran with --check did wrong",
		  .given = &what.findings },
		{ .name = "checks",
		  .help = "what 'rxe_dm run --check' looks for",
		  .given = &what.checks },
		{ 0 },
	};
	struct command_options options;
	const int status = options_parse(&options, argc, argv, own);
	struct ctl_client *client;
	int rc;

	if (status != OPTIONS_OK)
		return status;
	if (what.packets && options.rest == argc - 1) {
		if (!read_qpn(argv[options.rest], &what.qpn))
			return 2;
		options.rest++;
	}
	if (!options_end(&options, argc, argv))
		return 2;
	if (what.features)
		return list_features(&what);
	if (what.lab)
		return show_lab(&what);
	if (what.checks)
		return show_checks(what.json);
	rc = elsewhere_connect(&client, options.settings.instance, "show", false);
	if (rc == -ECONNREFUSED)
		return none_running(options.settings.instance, what.json);
	if (rc)
		return 1;
	rc = what.findings ? show_findings(client, what.json) : show(client, &what);
	ctl_disconnect(client);
	return rc;
}
