// SPDX-License-Identifier: MIT
/* The parent of a program that is checked. Signals sent to it go on to the program; those of the
 * terminal reach both. A process that has a finding sends a byte to the socket of the run, and the
 * finding is printed with symbols, which the process does not have. */
#include "rxe_dm/command/run_check.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/findings/table.h"
#include "rxe_dm/command/findings.h"
#include "rxe_dm/command/suppressions.h"

struct run {
	struct ctl_client *client;
	struct findings_list findings;
	struct suppressions *suppressions;
	sigset_t before; /* the signal mask of the program */
	int signals, notices;
	pid_t pid;
	int status; /* of waitpid(2) */
};

bool run_check_prepare(struct run_check *check)
{
	const char *variable = secure_getenv("RXE_DM_CHECK");
	bool on[CHECK_END];
	const char *unknown;

	if (!check->on && variable && *variable && strcmp(variable, "0") != 0) {
		check->on = true;
		check->list = variable;
	}
	if (!check->on) {
		unsetenv("RXE_DM_CHECK");
		return true;
	}
	check->list = check->list && *check->list ? check->list : "all";
	unknown = check_select(check->list, on);
	if (unknown) {
		ctl_log(CTL_LOG_ERROR,
			"--check: there is no check or group '%.40s': 'rxe_dm show --checks' lists "
			"them",
			unknown);
		return false;
	}
	return setenv("RXE_DM_CHECK", check->list, 1) == 0;
}

/* The socket that processes of the run notify, as lib/check/report.c names it. -1: they print what
 * they find themselves. */
static int open_notices(uint64_t run)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
				 "rxe_dm/check/%016" PRIx64, run);

	if (fd >= 0 &&
	    bind(fd, (struct sockaddr *)&addr,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool begin(struct run *run, const char *instance)
{
	char number[17];
	sigset_t all;

	/* A program, not a command: the server stays until the findings are read. */
	if (ctl_connect_as(&run->client, instance, CTL_ROLE_PROGRAM, true))
		return false;
	while (!run->findings.run) {
		if (getrandom(&run->findings.run, sizeof(run->findings.run), 0) < 0)
			run->findings.run = (uint64_t)getpid();
	}
	run->findings.suppressions = run->suppressions;
	snprintf(number, sizeof(number), "%016" PRIx64, run->findings.run);
	setenv("RXE_DM_CHECK_RUN", number, 1);
	run->notices = open_notices(run->findings.run);
	sigfillset(&all);
	sigdelset(&all, SIGTSTP);
	sigdelset(&all, SIGTTIN);
	sigdelset(&all, SIGTTOU);
	sigprocmask(SIG_SETMASK, &all, &run->before);
	run->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signals >= 0;
}

static void exec_program(const struct run *run, char **program)
{
	sigprocmask(SIG_SETMASK, &run->before, NULL);
	execvp(program[0], program);
	fprintf(stderr, "rxe_dm: cannot run '%s': %s\n", program[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* True: the program has ended. */
static bool take_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			if (waitpid(run->pid, &run->status, WNOHANG) == run->pid)
				return true;
		} else if (info.ssi_code <= 0) { /* a process sent it, not the terminal */
			kill(run->pid, (int)info.ssi_signo);
		}
	}
	return false;
}

static void print_new(struct run *run)
{
	char byte;

	while (run->notices >= 0 && recv(run->notices, &byte, 1, 0) >= 0)
		;
	findings_read(&run->findings, run->client);
	findings_print(&run->findings, stderr);
}

static void wait_for(struct run *run)
{
	struct pollfd fds[] = { { .fd = run->signals, .events = POLLIN },
				{ .fd = run->notices, .events = POLLIN } };

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[1].revents)
			print_new(run);
		if (fds[0].revents && take_signals(run))
			return;
	}
}

/* False: explained. */
static bool write_output(const struct run *run, const char *file)
{
	const size_t len = strlen(file);
	const bool sarif = len >= 6 && strcmp(file + len - 6, ".sarif") == 0;
	FILE *to = fopen(file, "we");
	bool done = to && (sarif ? findings_sarif(&run->findings, to)
				 : findings_json(&run->findings, to));

	if (to && fclose(to))
		done = false;
	if (!done)
		ctl_log(CTL_LOG_ERROR, "--check-output: cannot write '%s': %s", file,
			strerror(errno));
	return done;
}

/* The program's end is this process's. */
static int end_as(int status)
{
	const struct rlimit no_core = { 0, 0 };
	sigset_t all;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core); /* the program has written one */
	signal(WTERMSIG(status), SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static void sum_up(const struct run *run, uint32_t found, uint32_t notes)
{
	fprintf(stderr,
		"rxe_dm: %u %s, %u %s; the program ended with %s %d; 'rxe_dm show --findings'\n",
		found, found == 1 ? "finding" : "findings", notes, notes == 1 ? "note" : "notes",
		WIFSIGNALED(run->status) ? "signal" : "status",
		WIFSIGNALED(run->status) ? WTERMSIG(run->status) : WEXITSTATUS(run->status));
}

/* The program has failed, and no check says why. */
static void explain_worst(const char *worst)
{
	fprintf(stderr,
		"rxe_dm: the device did what the standard permits and adapters seldom do "
		"(--worst=%s): if the program ends well with --worst=none, it relies on more than "
		"is promised; WORST.md has each switch\n",
		worst);
}

static int finish(struct run *run, const struct run_check *check)
{
	uint32_t found, notes;

	print_new(run);
	found = findings_count(&run->findings, false);
	notes = findings_count(&run->findings, true);
	if (check->output && !write_output(run, check->output))
		return 1;
	if (found || notes)
		sum_up(run, found, notes);
	if (!found && run->status && strcmp(check->worst, "none") != 0)
		explain_worst(check->worst);
	return found && check->exit_status ? (int)check->exit_status : end_as(run->status);
}

int run_check_program(const struct run_check *check, const char *instance, char **program)
{
	struct run run = { .signals = -1, .notices = -1 };
	int status = 1;

	if (check->suppressions && !suppressions_read(check->suppressions, &run.suppressions))
		return 2;
	if (begin(&run, instance)) {
		run.pid = fork();
		if (run.pid == 0)
			exec_program(&run, program);
		if (run.pid > 0) {
			wait_for(&run);
			status = finish(&run, check);
		}
	}
	findings_drop(&run.findings);
	suppressions_free(run.suppressions);
	ctl_disconnect(run.client);
	return status;
}
