// SPDX-License-Identifier: MIT
/* Autostart: a program starts a server and never has a visible child process.
 *
 * The intermediate process has exit signal 0: it raises no SIGCHLD, and only a wait with __WCLONE
 * sees it. Its child, the server, is orphaned at once. Both run in the program's memory until exec,
 * as after vfork(): no pthread_atfork handler runs, and the program's size does not matter. */
#include "lib/control/start.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "lib/control/process.h"

/* Time to wait for a report before the server's state is checked. */
#define START_TIMEOUT_MS 10000
#define CHILD_STACK	 (64u * 1024)
#define MAX_ARGS	 32

extern char **environ;

struct launch {
	char path[PATH_MAX];
	char *argv[MAX_ARGS + 4];
	char **envp;
	int ready_fd;
	pid_t pid;
	int error; /* errno of exec, written by the child, which shares our memory */
	uint8_t *stacks;
};

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool own_folder(char ret[static PATH_MAX])
{
	Dl_info info;
	char *slash;

	if (!dladdr((void *)(uintptr_t)ctl_start_server, &info) || !info.dli_fname ||
	    !strchr(info.dli_fname, '/') || !realpath(info.dli_fname, ret)) {
		if (!realpath("/proc/self/exe", ret))
			return false;
	}
	slash = strrchr(ret, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

/* Finds the rxe_dm program: RXE_DM_SERVER, then relative to libibverbs.so.1 in a build tree
 * (lib/verbs) and in a relocated installation, then in the configured prefix. */
static bool locate(char ret[static PATH_MAX])
{
	static const char *const nearby[] = { "rxe_dm", "../../rxe_dm/rxe_dm",
					      "../../../bin/rxe_dm", "../../bin/rxe_dm" };
	const char *asked = secure_getenv("RXE_DM_SERVER");
	char folder[PATH_MAX];

	if (asked && *asked) {
		snprintf(ret, PATH_MAX, "%s", asked);
		return is_program(ret);
	}
	if (own_folder(folder)) {
		for (size_t i = 0; i < sizeof(nearby) / sizeof(nearby[0]); i++) {
			int len = snprintf(ret, PATH_MAX, "%s/%s", folder, nearby[i]);

			if (len < PATH_MAX && is_program(ret))
				return true;
		}
	}
	snprintf(ret, PATH_MAX, "%s/rxe_dm", RXE_DM_BINDIR);
	return is_program(ret);
}

/* Resets all signals of the child, which has a table of handlers of its own. */
static void reset_signals(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_from(int first)
{
	if (syscall(SYS_close_range, (unsigned int)first, ~0u, 0) == 0)
		return;
	for (int fd = first, end = (int)sysconf(_SC_OPEN_MAX); fd < end; fd++)
		close(fd);
}

static void take_place(int fd, int place)
{
	if (fd == place)
		fcntl(fd, F_SETFD, 0);
	else
		dup2(fd, place);
}

/* Runs on a stack that the address sanitizer does not know. */
#define NO_ASAN __attribute__((no_sanitize_address))

/* Detaches the server from the terminal and the program's process group, but not from the session:
 * setsid() would give it a scheduling group of its own (sched_autogroup), in which Linux lets it
 * wait for seconds while programs of another group use all processors. */
static NO_ASAN void detach(void)
{
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	setpgid(0, 0);
	if (terminal >= 0)
		ioctl(terminal, TIOCNOTTY);
}

/* Runs in the memory of the program until exec: only system calls are allowed. */
static NO_ASAN int become_server(void *arg)
{
	struct launch *launch = (struct launch *)arg;
	int null;

	launch->pid = getpid();
	reset_signals();
	take_place(launch->ready_fd, CTL_READY_FD);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < CTL_READY_FD; fd++) {
		if (null != fd)
			dup2(null, fd);
	}
	close_from(CTL_READY_FD + 1);
	detach(); /* needs a free descriptor */
	execve(launch->path, launch->argv, launch->envp);
	launch->error = errno;
	_exit(127);
}

static NO_ASAN int run_intermediate(void *arg)
{
	struct launch *launch = (struct launch *)arg;

	if (clone(become_server, launch->stacks + 2 * CHILD_STACK, CLONE_VM | CLONE_VFORK, arg) < 0)
		launch->error = errno;
	_exit(0);
}

/* CLONE_VFORK: this thread continues after the server's exec has succeeded or failed. */
static int spawn(struct launch *launch)
{
	sigset_t all, before;
	int cancel, rc = 0;
	pid_t pid;

	launch->stacks = (uint8_t *)malloc((size_t)2 * CHILD_STACK);
	if (!launch->stacks)
		return -ENOMEM;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone(run_intermediate, launch->stacks + CHILD_STACK, CLONE_VM | CLONE_VFORK, launch);
	if (pid < 0)
		rc = -errno;
	else
		while (waitpid(pid, NULL, (int)__WCLONE) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_setcancelstate(cancel, NULL);
	free(launch->stacks);
	return rc ? rc : -launch->error;
}

/* Copies the environment, without variables that load code into the server. */
static char **server_environment(void)
{
	size_t n = 0, kept = 0;
	char **env;

	while (environ && environ[n])
		n++;
	env = (char **)calloc(n + 1, sizeof(*env));
	for (size_t i = 0; env && i < n; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "LD_AUDIT=", 9))
			env[kept++] = environ[i];
	}
	return env;
}

/* Handles one line from the server. True: the last one, and *ret is the result. */
static bool handle_line(const char *line, int *ret, bool *said_why)
{
	*said_why |= line[0] == CTL_READY_ERROR;
	switch (line[0]) {
	case CTL_READY_UP: *ret = 0; return true;
	case CTL_READY_BUSY: *ret = -EALREADY; return true;
	case CTL_READY_FAILED: *ret = -ECONNREFUSED; return true;
	case CTL_READY_ERROR: ctl_log(CTL_LOG_ERROR, "%s", line + 1); return false;
	case CTL_READY_NOTICE: ctl_log(CTL_LOG_WARNING, "%s", line + 1); return false;
	}
	return false;
}

/* No report yet: a slow server is waited for, an exited one closes the pipe. -ETIMEDOUT:
 * stopped. */
static int explain_silence(pid_t pid)
{
	if (!ctl_process_is_stopped(pid)) {
		ctl_log(CTL_LOG_WARNING,
			"the device server (process %d) has not started after %d s: still waiting",
			(int)pid, START_TIMEOUT_MS / 1000);
		return 0;
	}
	ctl_log(CTL_LOG_ERROR,
		"the device server (process %d) is stopped: 'kill -CONT %d' lets it go on",
		(int)pid, (int)pid);
	return -ETIMEDOUT;
}

static int await_report(int fd, pid_t pid)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char text[2048];
	bool said_why = false;
	size_t have = 0;
	int rc;

	for (;;) {
		char *end, *line = text;
		ssize_t n;

		rc = poll(&ready, 1, START_TIMEOUT_MS);
		if (rc < 0 && errno == EINTR)
			continue;
		if (rc == 0) {
			rc = explain_silence(pid);
			if (rc)
				return rc;
			continue;
		}
		n = read(fd, text + have, sizeof(text) - 1 - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (!said_why)
				ctl_log(CTL_LOG_ERROR,
					"the device server exited at its start, without a reason");
			return -ECONNREFUSED;
		}
		have += (size_t)n;
		text[have] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			if (handle_line(line, &rc, &said_why))
				return rc;
		}
		have = have == sizeof(text) - 1 ? 0 : strlen(line);
		memmove(text, line, have);
	}
}

static int launch_server(struct launch *launch, const char *const *args)
{
	size_t n = 0;
	int pipe_fds[2], rc;

	launch->argv[n++] = launch->path;
	for (; args && *args && n < MAX_ARGS; args++)
		memcpy(&launch->argv[n++], args, sizeof(*args)); /* exec does not modify them */
	launch->argv[n] = NULL;
	launch->envp = server_environment();
	if (!launch->envp)
		return -ENOMEM;
	if (pipe2(pipe_fds, O_CLOEXEC)) {
		rc = -errno;
		free(launch->envp);
		return rc;
	}

	launch->ready_fd = pipe_fds[1];
	rc = spawn(launch);
	close(pipe_fds[1]);
	if (rc)
		ctl_log(CTL_LOG_ERROR, "could not run the device server %s: %s", launch->path,
			strerror(-rc));
	else
		rc = await_report(pipe_fds[0], launch->pid);
	close(pipe_fds[0]);
	free(launch->envp);
	return rc;
}

int ctl_start_server(const char *const *args)
{
	struct launch *launch = (struct launch *)calloc(1, sizeof(*launch));
	int rc;

	if (!launch)
		return -ENOMEM;
	if (locate(launch->path)) {
		rc = launch_server(launch, args);
	} else {
		ctl_log(CTL_LOG_ERROR,
			"no device server at %s: install rxe_dm there, or name it with "
			"RXE_DM_SERVER",
			launch->path);
		rc = -ENOENT;
	}
	free(launch);
	return rc;
}

/* The server's end of the pipe to its starter. */

void ctl_ready_send(enum ctl_ready_tag tag, const char *text)
{
	char line[600];
	int len = snprintf(line, sizeof(line), "%c%s\n", tag, text);

	if (write(CTL_READY_FD, line, (size_t)len) < 0)
		return; /* the starter has exited, and the server serves all the same */
}

static void log_to_starter(enum ctl_log_level level, const char *line)
{
	if (level <= CTL_LOG_WARNING)
		ctl_ready_send(level == CTL_LOG_ERROR ? CTL_READY_ERROR : CTL_READY_NOTICE, line);
}

void ctl_ready_log(void)
{
	fcntl(CTL_READY_FD, F_SETFD, FD_CLOEXEC);
	ctl_log_to(log_to_starter);
}
