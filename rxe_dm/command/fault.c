// SPDX-License-Identifier: MIT
/* rxe_dm fault: adds, lists and removes fault rules. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/control/connection.h"
#include "lib/inject/rule.h"
#include "rxe_dm/command/command.h"
#include "rxe_dm/command/view.h"

struct asked {
	struct ctl_client *client;
	uint64_t device;
	bool json;
	char **words; /* after add, list or clear */
	int num_words;
	char rule[INJECT_TEXT_MAX]; /* add */
	uint32_t id;		    /* clear; 0: all */
};

static int failed(const char *what, int rc)
{
	fprintf(stderr, "rxe_dm: %s: %s\n", what,
		rc == -ENODEV ? "there is no such device" : strerror(-rc));
	return 1;
}

/* The words of the command line are one rule, however the shell cut them. */
static bool join_words(struct asked *asked)
{
	struct view_text rule = { asked->rule, sizeof(asked->rule), 0 };
	size_t len = 0;

	for (int i = 0; i < asked->num_words; i++) {
		view_add(&rule, "%s%s", i ? " " : "", asked->words[i]);
		len += (i != 0) + strlen(asked->words[i]);
	}
	if (len == rule.len)
		return true;
	fprintf(stderr, "rxe_dm: a rule has at most %d characters\n", INJECT_TEXT_MAX - 1);
	return false;
}

/* Checks the rule before a server is started for it. False: explained. */
static bool rule_is_good(struct asked *asked)
{
	char why[INJECT_TEXT_MAX];
	struct inject_rule rule;

	if (asked->num_words == 0) {
		fprintf(stderr, "rxe_dm: fault add which rule? For example: rxe_dm fault add drop "
				"probability=1%%\n");
		return false;
	}
	for (int i = 0; i < asked->num_words; i++) {
		if (strncmp(asked->words[i], "--", 2) == 0) {
			fprintf(stderr,
				"rxe_dm: options stand before the rule: rxe_dm fault add %s ...\n",
				asked->words[i]);
			return false;
		}
	}
	if (!join_words(asked))
		return false;
	if (!inject_rule_parse(&rule, asked->rule, why)) {
		fprintf(stderr, "rxe_dm: %s\n", why);
		return false;
	}
	return true;
}

static struct ctl_call new_call(const struct asked *asked, enum ctl_fault_what what)
{
	return (struct ctl_call){
		.req = { .op = CTL_FAULT, .device = (uint32_t)asked->device, .fault.what = what },
		.in_fd = -1
	};
}

static int add(const struct asked *asked)
{
	struct ctl_call call = new_call(asked, CTL_FAULT_ADD);
	int rc;

	memcpy(call.req.fault.text, asked->rule, sizeof(asked->rule));
	rc = ctl_do(asked->client, &call, 0);
	if (rc == -ENOSPC) {
		fprintf(stderr,
			"rxe_dm: there are %d rules already: 'rxe_dm fault clear' takes them "
			"away\n",
			FAULT_MAX_RULES);
		return 1;
	}
	if (rc)
		return failed("the rule was not added", rc);
	printf("%u\n", call.reply.made.handle);
	return 0;
}

static bool clear_is_good(struct asked *asked)
{
	const char *word = asked->num_words ? asked->words[0] : "";
	unsigned long id;
	char *end;

	if (asked->num_words == 0)
		return true;
	errno = 0;
	id = strtoul(word, &end, 10);
	asked->id = (uint32_t)id;
	if (asked->num_words == 1 && !errno && !*end && id > 0 && id <= UINT32_MAX && *word != '-')
		return true;
	fprintf(stderr, "rxe_dm: fault clear takes the number of one rule, as 'rxe_dm fault list' "
			"shows it, or nothing\n");
	return false;
}

static int clear(const struct asked *asked)
{
	struct ctl_call call = new_call(asked, asked->id ? CTL_FAULT_REMOVE : CTL_FAULT_CLEAR);
	int rc;

	call.req.fault.id = asked->id;
	rc = ctl_do(asked->client, &call, 0);
	if (rc == -ENOENT) {
		fprintf(stderr,
			"rxe_dm: there is no rule %u: 'rxe_dm fault list' shows which there are\n",
			asked->id);
		return 1;
	}
	return rc ? failed("the rules are as they were", rc) : 0;
}

static void list_text(const struct ctl_shared *shared)
{
	int at = view_next_fault(shared, 0);

	if (at < 0)
		printf("no faults\n");
	else
		printf("%6s %10s  %s\n", "NUMBER", "FIRED", "RULE");
	for (; at >= 0; at = view_next_fault(shared, shared->faults.at[at].id))
		printf("%6u %10llu  %s\n", shared->faults.at[at].id,
		       (unsigned long long)view_fault_fired(shared, (uint32_t)at),
		       shared->faults.at[at].text);
}

static int list_json(const struct ctl_shared *shared)
{
	json_t *list = show_json_faults(shared);
	int rc = json_dumpf(list, stdout, JSON_INDENT(2));

	printf("\n");
	json_decref(list);
	return rc ? 1 : 0;
}

static bool list_is_good(struct asked *asked)
{
	if (asked->num_words == 0)
		return true;
	fprintf(stderr, "rxe_dm: fault list takes no argument '%s'\n", asked->words[0]);
	return false;
}

static int list(const struct asked *asked)
{
	const struct ctl_shared *shared;
	int rc = view_map_shared(&shared, asked->client, (uint32_t)asked->device);
	if (rc)
		return failed("the rules cannot be read", rc);
	if (asked->json)
		rc = list_json(shared);
	else
		list_text(shared);
	munmap((void *)(uintptr_t)shared, sizeof(*shared));
	return rc;
}

/* No server runs, so there are no rules. */
static int list_none(const struct asked *asked, const char *instance)
{
	if (asked->json)
		printf("[]\n");
	else
		printf("no faults: instance '%s' is not running\n", instance);
	return 0;
}

static int clear_none(const struct asked *asked, const char *instance)
{
	if (asked->num_words == 0)
		return 0;
	fprintf(stderr, "rxe_dm: there is no rule %s: instance '%s' is not running\n",
		asked->words[0], instance);
	return 1;
}

static const struct action {
	const char *name;
	int (*run)(const struct asked *asked);
	bool (*is_good)(struct asked *asked); /* the words; else it was explained */
	int (*without)(const struct asked *asked,
		       const char *instance); /* no server is there; NULL: start one */
} actions[] = {
	{ "add", add, rule_is_good, NULL },
	{ "list", list, list_is_good, list_none },
	{ "clear", clear, clear_is_good, clear_none },
};

static void print_rule_words(void)
{
	struct inject_word_help word;

	for (uint32_t action = 0; action < INJECT_ACTIONS; action++)
		printf("%c%s", action ? '|' : ' ', inject_action_str(action));
	for (uint32_t i = 0; inject_word_help(&word, i); i++)
		printf("|%s=", word.key);
}

void fault_words(void)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		printf("%s", actions[i].name);
		if (actions[i].run == add)
			print_rule_words();
		printf("\n");
	}
}

static const struct action *find_action(const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	}
	fprintf(stderr, "rxe_dm: fault knows add, list and clear, not '%s'\n", name);
	return NULL;
}

static int act(struct asked *asked, const struct action *action, const char *instance)
{
	int rc;

	if (!action->is_good(asked))
		return 2;
	rc = elsewhere_connect(&asked->client, instance, "fault", !action->without);
	if (rc == -ECONNREFUSED && action->without)
		return action->without(asked, instance);
	if (rc)
		return 1; /* was explained */
	rc = action->run(asked);
	ctl_disconnect(asked->client);
	return rc;
}

/* Options stand before the action, or right after it. */
int command_fault(int argc, char **argv)
{
	struct asked asked = { 0 };
	char *const command = argv[0];
	const struct command_option own[] = {
		{ .name = "json", .help = "list as JSON", .given = &asked.json },
		DEVICE_OPTION(&asked.device),
		{ 0 },
	};
	const struct action *action = NULL;
	struct command_options options;

	for (int round = 0; round < 2; round++) {
		const int status = options_parse(&options, argc, argv, own);

		if (status != OPTIONS_OK)
			return status;
		if (action)
			break;
		if (options.rest >= argc) {
			fprintf(stderr, "rxe_dm: fault add, list or clear? For example: rxe_dm "
					"fault add drop opcode=ACKNOWLEDGE nth=3\n");
			return 2;
		}
		action = find_action(argv[options.rest]);
		if (!action)
			return 2;
		argc -= options.rest;
		argv += options.rest;
		argv[0] = command;
	}
	asked.words = argv + options.rest;
	asked.num_words = argc - options.rest;
	return act(&asked, action, options.settings.instance);
}
