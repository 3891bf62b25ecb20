/* SPDX-License-Identifier: MIT */
/* The rxe_dm command: its subcommands and their options. */
#ifndef RXE_DM_COMMAND_H
#define RXE_DM_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/control/settings.h"

/* A switch that a subcommand has beside the settings. */
struct command_flag {
	const char *name;     /* --foreground */
	const char *argument; /* how its value is called, in the help */
	const char *help;     /* NULL: not in the help */
	bool *set;	      /* NULL: known, changes nothing */
	const char **value;   /* not NULL: it takes one */
};

struct command_options {
	struct ctl_settings settings;
	bool given; /* one of the settings but the instance was named on the command line */
	int rest;   /* index of the first argument that is no option */
};

/* Which settings a command takes. */
enum command_settings {
	COMMAND_STARTS,	   /* all: it is there to start a server, or a program that does */
	COMMAND_MAY_START, /* all, for the server that it starts if there is none */
	COMMAND_FINDS,	   /* which instance: the rest would change nothing */
};

struct command {
	const char *name, *arguments, *summary;
	int (*run)(int argc, char **argv); /* exit status; argv[0] is the subcommand */
	enum command_settings settings;
	void (*help)(void); /* NULL, or what stands below its options */
};
extern const struct command command_table[];
extern const size_t command_count;

enum options_result {
	OPTIONS_OK,
	OPTIONS_HELP, /* was printed: exit 0 */
	OPTIONS_BAD,  /* was explained: exit 2 */
};
/* Environment first, then argv from 1 on; argv[0] is the command. flags ends with a NULL name. */
enum options_result options_parse(struct command_options *ret, int argc, char **argv,
				  const struct command_flag *flags);
void options_help(const char *command, const struct command_flag *flags);

/* Options that are settings, among the first argc arguments, become the environment: a server that is started now has them. 0 or a
 * negative errno. */
int command_export_settings(int argc, char **argv);

/* What `start` asks its caller to do, beside exiting. */
struct command_server {
	bool serve;	 /* this process becomes the server; else it exits with the status */
	bool lingers;	 /* a program started it: it ends after the last program */
	bool to_starter; /* reports to the starter by lib/control/ready.h */
	struct ctl_settings settings;
};

int command_start(int argc, char **argv, struct command_server *ret);
int command_stop(int argc, char **argv);
int command_show(int argc, char **argv);
int command_run(int argc, char **argv);
int command_capture(int argc, char **argv);
int command_fault(int argc, char **argv);
void fault_help(void);

#endif
