// SPDX-License-Identifier: MIT
/* rdma: arguments and objects. Objects may be cut short as in iproute2 ("rdma li"), and options may
 * stand anywhere. */
#include "rxe_dm/command/rdma.h"

#include <errno.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/shared.h"
#include "rxe_dm/command/command.h"

struct request {
	struct rdma_output output;
	const char *device; /* NULL: all */
};

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "pretty", no_argument, NULL, 'p' },
	{ "details", no_argument, NULL, 'd' },
	{ "raw", no_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};
static const char *const objects[] = { "dev", "link", "statistic", "system", "help", NULL };

static void usage(FILE *to)
{
	fprintf(to, "usage: rdma [ OPTIONS ] OBJECT [ show ] [ DEV | DEV/PORT ]\n"
		    "shows the devices of rxe_dm in the formats of iproute2's rdma(8)\n\n"
		    "  OBJECT   dev | link | statistic | system\n"
		    "  OPTIONS  -j[son] | -p[retty] | -d[etails] | -V[ersion]\n");
}

static void guid_text(uint64_t guid, char ret[static 20])
{
	uint8_t b[8];

	memcpy(b, &guid, sizeof(b));
	snprintf(ret, 20, "%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5],
		 b[6], b[7]);
}

static void show_dev(struct request *request, const struct view_device *device)
{
	struct rdma_line line = rdma_begin(&request->output, device);
	char text[20];

	rdma_text(&line, "node_type", "ca");
	rdma_text(&line, "fw", RXE_DM_VERSION);
	guid_text(device->info.node_guid, text);
	rdma_text(&line, "node_guid", text);
	guid_text(device->info.sys_image_guid, text);
	rdma_text(&line, "sys_image_guid", text);
	rdma_end(&line);
}

static void show_caps(const struct rdma_line *line)
{
	if (line->output->json)
		json_object_set_new(line->object, "caps", json_pack("[ss]", "CM", "IP_BASED_GIDS"));
	else
		printf("\n    caps: <CM, IP_BASED_GIDS>");
}

static void show_link(struct request *request, const struct view_device *device)
{
	struct rdma_line line = rdma_begin_link(&request->output, device);
	const bool up = atomic_load(&device->shared->port_state) == IBV_PORT_ACTIVE;

	rdma_text(&line, "state", up ? "ACTIVE" : "DOWN");
	rdma_text(&line, "physical_state", up ? "LINK_UP" : "DISABLED");
	if (device->info.if_name[0]) {
		rdma_text(&line, "netdev", device->info.if_name);
		if (request->output.details || request->output.json)
			rdma_number(&line, "netdev_index", device->info.if_index);
	}
	if (request->output.details)
		show_caps(&line);
	rdma_end(&line);
}

static void show_statistic(struct request *request, const struct view_device *device)
{
	struct rdma_line line = rdma_begin_link(&request->output, device);
	struct rxe_counters counters;
	struct ctl_lost lost;

	ctl_total_counters(device->shared, &counters);
	ctl_total_lost(device->shared, &lost);
#define X(name) rdma_counter(&line, #name, counters.name);
	RXE_COUNTERS(X)
#undef X
#define X(name) rdma_counter(&line, #name, lost.name);
	CTL_LOST(X)
#undef X
	rdma_end(&line);
}

/* Devices belong to one network namespace each. */
static int show_system(struct request *request)
{
	if (request->output.json)
		json_array_append_new(
			request->output.lines,
			json_pack("{ssss}", "netns", "exclusive", "copy-on-fork", "on"));
	else
		printf("netns exclusive copy-on-fork on\n");
	return 0;
}

static bool is_named(const struct request *request, const struct view_device *device)
{
	const char *name = request->device;
	const size_t len = name ? strcspn(name, "/") : 0;

	return !name ||
	       (len == strlen(device->info.name) && strncmp(name, device->info.name, len) == 0 &&
		(!name[len] || strcmp(name + len, "/1") == 0 || strcmp(name + len, "/-") == 0));
}

static void show(struct request *request, char object, const struct view_device *device)
{
	switch (object) {
	case 'd': show_dev(request, device); return;
	case 'l': show_link(request, device); return;
	case 's': show_statistic(request, device); return;
	}
}

static int fail(const char *what, const char *word)
{
	fprintf(stderr, "rdma: %s '%s': 'rdma help' lists what there is\n", what, word);
	return 1;
}

static int show_all(struct request *request, char object, struct ctl_client *client)
{
	static struct view view;
	int rc = view_take(&view, client), shown = 0;

	if (rc) {
		fprintf(stderr, "rdma: the device server does not answer: %s\n", strerror(-rc));
		return 1;
	}
	for (uint32_t i = 0; i < view.num_devices; i++) {
		if (!is_named(request, &view.device[i]))
			continue;
		shown++;
		show(request, object, &view.device[i]);
	}
	if (request->device && !shown)
		rc = fail("there is no device", request->device);
	view_drop(&view);
	return rc;
}

/* Without a server there are no devices, which is no error. */
static int with_server(struct request *request, char object)
{
	const struct ctl_setting *setting = ctl_setting_find("instance");
	struct ctl_settings settings;
	struct ctl_client *client;
	char why[CTL_WHY_MAX];
	int rc;

	ctl_settings_init(&settings);
	if (!ctl_setting_from_env(&settings, setting, why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return 2;
	}
	rc = elsewhere_connect(&client, settings.instance, "rdma", false);
	if (rc == -ECONNREFUSED)
		return request->device ? fail("there is no device", request->device) : 0;
	if (rc)
		return 1;
	rc = show_all(request, object, client);
	ctl_disconnect(client);
	return rc;
}

/* The word that begins with this one, of a list that ends with NULL; or NULL. */
static const char *complete(const char *word, const char *const *words)
{
	for (; *words; words++) {
		if (*word && strncmp(*words, word, strlen(word)) == 0)
			return *words;
	}
	return NULL;
}

/* [show|list] [link|dev] [DEV] */
static int take_words(struct request *request, char object, char **words)
{
	static const char *const commands[] = { "show", "list", NULL };
	static const char *const scopes[] = { "link", "dev", NULL };

	if (*words && complete(*words, commands))
		words++;
	if (object == 's' && *words && complete(*words, scopes))
		words++;
	if (*words)
		request->device = *words++;
	if (*words)
		return fail("this rdma cannot", *words);
	return object == 'S' ? show_system(request) : with_server(request, object);
}

static int take_object(struct request *request, char **words)
{
	const char *object = *words ? complete(*words, objects) : "help";

	if (!object)
		return fail("unknown object", *words);
	if (strcmp(object, "help") == 0 || (words[1] && strcmp(words[1], "help") == 0)) {
		usage(stdout);
		request->output.json = false;
		return 0;
	}
	return take_words(request, strcmp(object, "system") == 0 ? 'S' : *object, words + 1);
}

/* False: explained. *ret_done: there is nothing more to do. */
static bool take_options(struct rdma_output *ret, int argc, char **argv, bool *ret_done)
{
	int found;

	optind = 0;
	while ((found = getopt_long(argc, argv, "jpdrhV", options, NULL)) >= 0) {
		switch (found) {
		case 'j': ret->json = true; break;
		case 'p': ret->pretty = true; break;
		case 'd': ret->details = true; break;
		case 'r': break; /* nothing is translated */
		case 'h':
			usage(stdout);
			*ret_done = true;
			break;
		case 'V':
			printf("rdma utility, rxe_dm %s\n", RXE_DM_VERSION);
			*ret_done = true;
			break;
		default: usage(stderr); return false;
		}
	}
	return true;
}

static void print_completion(void)
{
	for (const struct option *option = options; option->name; option++)
		printf("--%s\n", option->name);
	for (size_t i = 0; objects[i]; i++)
		printf("%s\n", objects[i]);
}

int command_rdma(int argc, char **argv)
{
	struct request request = { 0 };
	bool done = false;
	int rc;

	if (argc == 2 && strcmp(argv[1], COMPLETION_OPTION) == 0) {
		print_completion();
		return 0;
	}
	if (!take_options(&request.output, argc, argv, &done))
		return 1;
	if (done)
		return 0;
	request.output.lines = json_array();
	rc = take_object(&request, argv + optind);
	if (rc == 0 && request.output.json) {
		json_dumpf(request.output.lines, stdout,
			   request.output.pretty ? JSON_INDENT(4) : JSON_COMPACT);
		printf("\n");
	}
	json_decref(request.output.lines);
	return rc;
}
