// SPDX-License-Identifier: MIT
/* rxe_dm: the command that manages software RDMA devices, and the device server itself. */
#include <stdio.h>
#include <string.h>

#include "lib/control/log.h"
#include "rxe_dm/command/command.h"
#include "rxe_dm/server/server.h"

static int start(int argc, char **argv)
{
	struct command_server server = { 0 };
	const int status = command_start(argc, argv, &server);

	return server.serve ? server_run(&server.settings, server.lingers, server.to_starter)
			    : status;
}

const struct command command_table[] = {
	{ "run", "[OPTIONS] [--] PROGRAM [ARGUMENTS]", "run a program that finds the device",
	  command_run, COMMAND_STARTS, NULL, NULL },
	{ "show", "[OPTIONS]", "show devices, their users and counters", command_show,
	  COMMAND_FINDS, NULL, NULL },
	{ "start", "[OPTIONS]", "start the device server and keep it", start, COMMAND_STARTS, NULL,
	  NULL },
	{ "stop", "[OPTIONS]", "end the device server", command_stop, COMMAND_FINDS, NULL, NULL },
	{ "capture", "[OPTIONS] FILE",
	  "write the packets of a device to a pcapng file (- for standard output)", command_capture,
	  COMMAND_MAY_START, NULL, NULL },
	{ "fault", "[OPTIONS] add RULE | list | clear [NUMBER]",
	  "make a device misbehave, by rules: packets, completions, verbs, the port", command_fault,
	  COMMAND_MAY_START, fault_help, fault_words },
	{ "lab", "up FILE | exec NODE PROGRAM | show | link | capture | down",
	  "make several hosts with devices on this machine, from a file", command_lab,
	  COMMAND_FINDS, NULL, NULL },
	{ "report", "[-o FILE] CAPTURE.pcapng|DIR",
	  "make one HTML file from a capture or from a recorded run", command_report, COMMAND_FINDS,
	  NULL, NULL },
	{ "explore", "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
	  "run a program under many faults, and find those that break it", command_explore,
	  COMMAND_STARTS, NULL, NULL },
	{ "rdma", "[OPTIONS] OBJECT [show] [DEV]", "show devices as iproute2's rdma(8) does",
	  command_rdma, COMMAND_FINDS, NULL, NULL },
};
const size_t command_count = sizeof(command_table) / sizeof(command_table[0]);

static void usage(FILE *to)
{
	fprintf(to, "usage: rxe_dm COMMAND [OPTIONS]\n\n"
		    "A software RDMA device: programs that use libibverbs find it as rxe_dm0.\n\n");
	for (size_t i = 0; i < command_count; i++)
		fprintf(to, "  %-8s %s\n", command_table[i].name, command_table[i].summary);
	fprintf(to, "\n'rxe_dm COMMAND --help' lists the options of a command. Try: rxe_dm run "
		    "ibv_devinfo\n");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	ctl_log_stderr(CTL_LOG_WARNING);
	if (argc > 0 && strcmp(basename(argv[0]), "rdma") == 0)
		return command_rdma(argc, argv);
	if (!name) {
		usage(stderr);
		return 2;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		usage(stdout);
		return 0;
	}
	if (strcmp(name, COMPLETION_OPTION) == 0) {
		for (size_t i = 0; i < command_count; i++)
			puts(command_table[i].name);
		puts("--help\n--version");
		return 0;
	}
	if (strcmp(name, "--version") == 0) {
		printf("rxe_dm %s\n", RXE_DM_VERSION);
		return 0;
	}
	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(command_table[i].name, name) == 0)
			return command_table[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "rxe_dm: there is no command '%s': 'rxe_dm --help' lists them\n", name);
	return 2;
}
