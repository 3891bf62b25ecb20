/* SPDX-License-Identifier: MIT */
/* The rxe_dm command: its subcommands and their options. */
#ifndef RXE_DM_COMMAND_H
#define RXE_DM_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/control/settings.h"

/* An option of a subcommand beside the settings: a switch, a whole number from min to max, a
 * word, or a text that may be left out (--name=TEXT). */
struct command_option {
	const char *name;     /* foreground: --foreground; NULL ends a list */
	const char *argument; /* name of its value in the help */
	const char *help;     /* NULL: not in the help */
	bool *given;	      /* set by a switch; may be NULL */
	uint64_t *number;     /* NULL: a switch or a text */
	uint64_t min, max;
	const char *prefix;	  /* may stand before the number; or NULL */
	const char *const *words; /* NULL-terminated: the values of number, from 0 on; or NULL */
	const char **text;	  /* "" where it was left out; or NULL */
	bool needs_text;	  /* it may not be left out: --name TEXT */
};

/* --device NAME: rxe_dm1, or 1. */
#define DEVICE_OPTION(to)                                                                          \
	{                                                                                          \
		"device", "NAME", "the device, default rxe_dm0", NULL, to, 0, CTL_DEVICE_MAX - 1,  \
			"rxe_dm", NULL, NULL, false                                                \
	}

struct command_options {
	struct ctl_settings settings;
	bool given; /* one of the settings but the instance was named on the command line */
	int rest;   /* index of the first argument that is no option */
};

/* Selects the settings that a command takes. */
enum command_settings {
	COMMAND_STARTS,	   /* all: it is there to start a server, or a program that does */
	COMMAND_MAY_START, /* all, for the server that it starts if there is none */
	COMMAND_FINDS,	   /* which instance: the rest would change nothing */
};

struct command {
	const char *name, *arguments, *summary;
	int (*run)(int argc, char **argv); /* exit status; argv[0] is the subcommand */
	enum command_settings settings;
	void (*help)(void);  /* NULL, or what stands below its options */
	void (*words)(void); /* NULL, or prints what may follow its options, for completion */
};
extern const struct command command_table[];
extern const size_t command_count;

/* The only argument of a command: it prints what shells complete, from the tables that parse it. A
 * line has a word, then what may follow: words with bars between, or a name in capitals. */
#define COMPLETION_OPTION "--completion"

#define OPTIONS_OK (-1)
/* Reads the environment, then argv from 1 on; argv[0] is the command. Puts settings among the
 * options into the environment, for a server or program that is started. Returns OPTIONS_OK, or the
 * exit status after help or an explained error. */
int options_parse(struct command_options *ret, int argc, char **argv,
		  const struct command_option *own);
/* Checks that no argument follows the options. False: explained. */
bool options_end(const struct command_options *options, int argc, char **argv);

/* What `start` asks its caller to do, beside exiting. */
struct command_server {
	bool serve;	 /* this process becomes the server; else it exits with the status */
	bool lingers;	 /* a program started it: it ends after the last program */
	bool to_starter; /* reports to the starter by lib/control/start.h */
	struct ctl_settings settings;
};

struct ctl_client;

/* elsewhere.c. Logs where the instance runs, if that is another network namespace. */
void elsewhere_log(const char *instance, const char *command);
/* As ctl_connect_as(CTL_ROLE_COMMAND); where no server runs here, logs the above. */
int elsewhere_connect(struct ctl_client **ret, const char *instance, const char *command,
		      bool autostart);

int command_start(int argc, char **argv, struct command_server *ret);
int command_stop(int argc, char **argv);
int command_show(int argc, char **argv);
int command_run(int argc, char **argv);
int command_capture(int argc, char **argv);
int command_fault(int argc, char **argv);
int command_rdma(int argc, char **argv); /* also as a program of that name */
int command_lab(int argc, char **argv);
int command_report(int argc, char **argv);
int command_explore(int argc, char **argv);
void fault_help(void);
void fault_words(void);

#endif
