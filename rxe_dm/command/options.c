// SPDX-License-Identifier: MIT
/* Options of the subcommands: the settings, under the names of the table, and switches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/log.h"
#include "rxe_dm/command/command.h"

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(command_table[i].name, name) == 0)
			return &command_table[i];
	}
	return NULL;
}

enum taking {
	REFUSED,
	TAKEN_SILENTLY, /* the help of start tells of it */
	TAKEN,
};

static enum taking takes(const struct command *command, const struct ctl_setting *setting)
{
	if (!command || strcmp(setting->option, "instance") == 0)
		return TAKEN;
	switch (command->settings) {
	case COMMAND_STARTS: break;
	case COMMAND_MAY_START: return TAKEN_SILENTLY;
	case COMMAND_FINDS: return REFUSED;
	}
	return TAKEN;
}

static void help_line(const char *option, const char *argument, const char *help, const char *env)
{
	char left[64];

	snprintf(left, sizeof(left), "%s%s%s", option, argument ? " " : "",
		 argument ? argument : "");
	printf(env ? "  %-26s %s (%s)\n" : "  %-26s %s\n", left, help, env);
}

void options_help(const char *command, const struct command_flag *flags)
{
	const struct command *about = find_command(command);

	if (about)
		printf("usage: rxe_dm %s %s\n%s\n\n", command, about->arguments, about->summary);
	for (; flags->name; flags++) {
		if (flags->help)
			help_line(flags->name, flags->argument, flags->help, NULL);
	}
	for (size_t i = 0; i < ctl_setting_count; i++) {
		const struct ctl_setting *setting = &ctl_setting_table[i];
		char option[36];

		snprintf(option, sizeof(option), "--%s", setting->option);
		if (takes(about, setting) == TAKEN)
			help_line(option, setting->argument, setting->help, setting->env);
	}
	if (about && about->settings == COMMAND_MAY_START)
		printf("\nIf no server is running one is started: the options of 'rxe_dm start "
		       "--help' go with it.\n");
	if (about && about->help)
		about->help();
}

static bool take_flag(const char *arg, const struct command_flag *flags)
{
	for (; flags->name; flags++) {
		if (!flags->value && strcmp(arg, flags->name) == 0) {
			if (flags->set)
				*flags->set = true;
			return true;
		}
	}
	return false;
}

/* --flag value or --flag=value. Returns as take_setting does. */
static int take_value(int argc, char **argv, int at, const struct command_flag *flags)
{
	for (; flags->name; flags++) {
		const size_t len = strlen(flags->name);

		if (!flags->value || strncmp(argv[at], flags->name, len) != 0)
			continue;
		if (argv[at][len] == '=') {
			*flags->value = argv[at] + len + 1;
			return 1;
		}
		if (argv[at][len])
			continue;
		if (at + 1 >= argc) {
			ctl_log(CTL_LOG_ERROR, "%s wants a value: 'rxe_dm %s --help' lists them",
				flags->name, argv[0]);
			return -1;
		}
		*flags->value = argv[at + 1];
		return 2;
	}
	return 0;
}

/* --name value or --name=value. Returns how many arguments it was, 0 when it is none of ours, -1 when it was explained. */
static int take_setting(struct command_options *options, int argc, char **argv, int at)
{
	const char *equals = strchr(argv[at], '=');
	const struct ctl_setting *setting;
	char name[32], option[36], why[CTL_WHY_MAX];
	const char *value;
	size_t len = equals ? (size_t)(equals - argv[at]) - 2 : strlen(argv[at]) - 2;

	if (len >= sizeof(name))
		return 0;
	memcpy(name, argv[at] + 2, len);
	name[len] = '\0';
	setting = ctl_setting_find(name);
	if (!setting || takes(find_command(argv[0]), setting) == REFUSED)
		return 0;
	value = equals ? equals + 1 : (at + 1 < argc ? argv[at + 1] : NULL);
	if (!value) {
		ctl_log(CTL_LOG_ERROR, "--%s wants %s", name, setting->expects);
		return -1;
	}
	snprintf(option, sizeof(option), "--%s", name);
	if (!ctl_settings_set(&options->settings, setting, option, value, why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return -1;
	}
	options->given |= strcmp(name, "instance") != 0;
	return equals ? 1 : 2;
}

/* -1: refused. */
static int take_argument(struct command_options *options, int argc, char **argv, int at,
			 const struct command_flag *flags)
{
	int taken;

	if (take_flag(argv[at], flags))
		return 1;
	taken = take_value(argc, argv, at, flags);
	if (taken == 0 && strncmp(argv[at], "--", 2) == 0)
		taken = take_setting(options, argc, argv, at);
	if (taken == 0) {
		ctl_log(CTL_LOG_ERROR, "%s has no option '%s': 'rxe_dm %s --help' lists them",
			argv[0], argv[at], argv[0]);
		return -1;
	}
	return taken;
}

/* What a command would not take it does not look at either: a bad variable is no reason not to stop a server. */
static bool read_environment(struct ctl_settings *settings, const struct command *command,
			     char why[static CTL_WHY_MAX])
{
	const struct ctl_setting *instance = ctl_setting_find("instance");
	const char *value = secure_getenv(instance->env);

	if (!command || command->settings != COMMAND_FINDS)
		return ctl_settings_from_env(settings, why);
	return !value || !*value || ctl_settings_set(settings, instance, instance->env, value, why);
}

enum options_result options_parse(struct command_options *ret, int argc, char **argv,
				  const struct command_flag *flags)
{
	char why[CTL_WHY_MAX];
	int at = 1;

	*ret = (struct command_options){ 0 };
	ctl_settings_init(&ret->settings);
	if (!read_environment(&ret->settings, find_command(argv[0]), why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return OPTIONS_BAD;
	}
	while (at < argc && argv[at][0] == '-' && argv[at][1]) {
		int taken;

		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
			options_help(argv[0], flags);
			return OPTIONS_HELP;
		}
		taken = take_argument(ret, argc, argv, at, flags);
		if (taken < 0)
			return OPTIONS_BAD;
		at += taken;
	}
	ret->rest = at;
	return OPTIONS_OK;
}
