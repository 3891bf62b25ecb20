// SPDX-License-Identifier: MIT
/* rxe_dm show: what is there and who uses it, once or again and again. Looking starts no server and keeps none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/control/connection.h"
#include "rxe_dm/command.h"
#include "rxe_dm/view.h"

static int look(struct ctl_client *client, bool json, bool watch)
{
	static struct view view;
	int rc = view_take(&view, client);

	if (rc)
		return rc;
	if (watch && !json)
		printf("\033[H\033[2J");
	if (json)
		rc = show_json(&view, stdout);
	else
		show_table(&view, stdout);
	if (fflush(stdout))
		rc = -EPIPE;
	view_drop(&view);
	return rc;
}

static int show(struct ctl_client *client, bool json, bool watch)
{
	const struct timespec second = { .tv_sec = 1 };
	int rc;

	do {
		rc = look(client, json, watch);
	} while (rc == 0 && watch && nanosleep(&second, NULL) == 0);
	if (rc == -ENODEV && watch)
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
		       "or "
		       "'rxe_dm start', starts it\n",
		       instance);
	return 0;
}

int command_show(int argc, char **argv)
{
	bool json = false, watch = false;
	const struct command_flag flags[] = {
		{ "--json", "as JSON, with everything in it", &json, NULL },
		{ "--watch", "again each second, until Ctrl-C", &watch, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	struct command_options options;
	enum options_verdict verdict = options_parse(&options, argc, argv, flags);
	struct ctl_client *client;
	int rc;

	if (verdict != OPTIONS_OK)
		return verdict == OPTIONS_HELP ? 0 : 2;
	if (options.rest < argc) {
		fprintf(stderr, "rxe_dm: show takes no argument '%s'\n", argv[options.rest]);
		return 2;
	}
	rc = ctl_connect_as(&client, options.settings.instance, CTL_ROLE_COMMAND, false);
	if (rc == -ECONNREFUSED)
		return none_running(options.settings.instance, json);
	if (rc)
		return 1;
	rc = show(client, json, watch);
	ctl_disconnect(client);
	return rc;
}
