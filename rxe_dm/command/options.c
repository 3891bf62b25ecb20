// SPDX-License-Identifier: MIT
/* Options of the subcommands by getopt_long(3): settings (lib/control), and each command's own. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/log.h"
#include "rxe_dm/command/command.h"

#define OPTIONS_MAX 48
/* Values of getopt_long(3): the first own option of the command, and the first setting. */
#define OWN	256
#define SETTING 512

static const struct command *find_command(const char *name)
{
	size_t i = 0;

	while (strcmp(command_table[i].name, name) != 0) {
		i++;
		assert(i < command_count);
	}
	return &command_table[i];
}

static bool is_instance(const struct ctl_setting *setting)
{
	return strcmp(setting->option, "instance") == 0;
}

static bool takes(const struct command *command, const struct ctl_setting *setting)
{
	return command->settings != COMMAND_FINDS || is_instance(setting);
}

static int has_argument(const struct command_option *own)
{
	if (own->text)
		return own->needs_text ? required_argument : optional_argument;
	return own->number ? required_argument : no_argument;
}

static void help_line(const char *option, const char *argument, const char *help, const char *env)
{
	char left[64];

	snprintf(left, sizeof(left), "--%s%s%s", option, argument && *argument != '[' ? " " : "",
		 argument ? argument : "");
	printf(env ? "  %-26s %s (%s)\n" : "  %-26s %s\n", left, help, env);
}

static void print_help(const struct command *command, const struct command_option *own)
{
	printf("usage: rxe_dm %s %s\n%s\n\n", command->name, command->arguments, command->summary);
	for (; own->name; own++) {
		if (own->help)
			help_line(own->name, own->argument, own->help, NULL);
	}
	for (size_t i = 0; i < ctl_setting_count; i++) {
		const struct ctl_setting *setting = &ctl_setting_table[i];

		if (command->settings == COMMAND_STARTS || is_instance(setting))
			help_line(setting->option, setting->argument, setting->help, setting->env);
	}
	if (command->settings == COMMAND_MAY_START)
		printf("\nIf no server is running one is started: the options of 'rxe_dm start "
		       "--help' go with it.\n");
	if (command->help)
		command->help();
}

static void completion_line(const char *option, const char *argument)
{
	printf("--%s%s%s\n", option, argument ? " " : "", argument ? argument : "");
}

static void print_completion(const struct command *command, const struct command_option *own)
{
	completion_line("help", NULL);
	for (; own->name; own++) {
		if (own->help)
			completion_line(own->name, has_argument(own) == required_argument
							   ? own->argument
							   : NULL);
	}
	for (size_t i = 0; i < ctl_setting_count; i++) {
		if (takes(command, &ctl_setting_table[i]))
			completion_line(ctl_setting_table[i].option, ctl_setting_table[i].argument);
	}
	if (command->words)
		command->words();
}

static void fill_table(struct option ret[static OPTIONS_MAX], const struct command *command,
		       const struct command_option *own)
{
	int n = 0;

	ret[n++] = (struct option){ .name = "help", .val = 'h' };
	for (int i = 0; own[i].name; i++)
		ret[n++] = (struct option){ .name = own[i].name,
					    .has_arg = has_argument(&own[i]),
					    .val = OWN + i };
	for (int i = 0; i < (int)ctl_setting_count; i++) {
		if (takes(command, &ctl_setting_table[i]))
			ret[n++] = (struct option){ .name = ctl_setting_table[i].option,
						    .has_arg = required_argument,
						    .val = SETTING + i };
	}
	assert(n < OPTIONS_MAX);
	ret[n] = (struct option){ 0 };
}

/* False: explained. */
static bool take_word(const struct command_option *own, const char *value)
{
	for (uint64_t i = 0; own->words[i]; i++) {
		if (strcmp(own->words[i], value) == 0) {
			*own->number = i;
			return true;
		}
	}
	ctl_log(CTL_LOG_ERROR, "--%s is '%.40s': it expects %s", own->name, value, own->argument);
	return false;
}

/* False: explained. */
static bool take_own(const struct command_option *own, const char *value)
{
	const char *prefix = own->prefix ? own->prefix : "";
	const char *digits = value;
	char *end;

	if (own->given)
		*own->given = true;
	if (own->text)
		*own->text = value ? value : "";
	if (!own->number)
		return true;

	assert(value); /* getopt_long() refuses an option that lacks its argument */
	if (own->words)
		return take_word(own, value);
	if (strncmp(value, prefix, strlen(prefix)) == 0)
		digits += strlen(prefix);
	errno = 0;
	*own->number = strtoull(digits, &end, 10);
	if (isdigit((unsigned char)*digits) && !errno && !*end && *own->number >= own->min &&
	    *own->number <= own->max)
		return true;
	ctl_log(CTL_LOG_ERROR, "--%s is '%.40s': it expects %s%" PRIu64 " to %s%" PRIu64, own->name,
		value, prefix, own->min, prefix, own->max);
	return false;
}

/* Also sets the variable, for a server or program that is started now. False: explained. */
static bool take_setting(struct command_options *options, const struct ctl_setting *setting,
			 const char *value)
{
	char name[36], why[CTL_WHY_MAX];

	snprintf(name, sizeof(name), "--%s", setting->option);
	if (!ctl_settings_set(&options->settings, setting, name, value, why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return false;
	}
	options->given |= !is_instance(setting);
	if (setenv(setting->env, value, 1) == 0)
		return true;
	ctl_log(CTL_LOG_ERROR, "cannot set %s: %s", setting->env, strerror(errno));
	return false;
}

/* What getopt_long(3) found. False: explained. */
static bool take(struct command_options *options, int found, const char *arg, const char *command,
		 const struct command_option *own)
{
	const char *value = found == ':' ? "" : optarg; /* a missing value is an empty one */

	if (found == ':')
		found = optopt;
	if (found >= SETTING)
		return take_setting(options, &ctl_setting_table[found - SETTING], value);
	if (found >= OWN)
		return take_own(&own[found - OWN], value);
	ctl_log(CTL_LOG_ERROR, "%s has no option '%s': 'rxe_dm %s --help' lists them", command, arg,
		command);
	return false;
}

/* A command that takes no settings reads none: a bad variable is no reason not to stop a server. */
static bool read_environment(struct ctl_settings *settings, const struct command *command)
{
	char why[CTL_WHY_MAX];

	for (size_t i = 0; i < ctl_setting_count; i++) {
		if (takes(command, &ctl_setting_table[i]) &&
		    !ctl_setting_from_env(settings, &ctl_setting_table[i], why)) {
			ctl_log(CTL_LOG_ERROR, "%s", why);
			return false;
		}
	}
	return true;
}

int options_parse(struct command_options *ret, int argc, char **argv,
		  const struct command_option *own)
{
	const struct command *command = find_command(argv[0]);
	struct option table[OPTIONS_MAX];
	int found, at = 1;

	*ret = (struct command_options){ 0 };
	if (argc == 2 && strcmp(argv[1], COMPLETION_OPTION) == 0) {
		print_completion(command, own);
		return 0;
	}
	ctl_settings_init(&ret->settings);
	if (!read_environment(&ret->settings, command))
		return 2;
	fill_table(table, command, own);
	optind = 0; /* initializes getopt_long(3) of glibc */
	while ((found = getopt_long(argc, argv, "+:h", table, NULL)) >= 0) {
		if (found == 'h') {
			print_help(command, own);
			return 0;
		}
		if (!take(ret, found, argv[at], argv[0], own))
			return 2;
		at = optind;
	}
	ret->rest = optind;
	return OPTIONS_OK;
}

bool options_end(const struct command_options *options, int argc, char **argv)
{
	if (options->rest >= argc)
		return true;
	ctl_log(CTL_LOG_ERROR, "%s takes no argument '%s'", argv[0], argv[options->rest]);
	return false;
}
