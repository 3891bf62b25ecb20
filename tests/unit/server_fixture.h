/* SPDX-License-Identifier: MIT */
/* The fixture of tests with real server processes: an instance of the test's own, in a network
 * namespace of its own where that is allowed. It keeps the last log line. */
#ifndef TESTS_SERVER_FIXTURE_H
#define TESTS_SERVER_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/control/client.h"
#include "lib/control/connection.h"
#include "lib/control/settings.h"

#define WAIT_MS 60000 /* finds hangs; a busy machine is slow */

/* Run before and after each test: no server is running. */
void fixture_setup(void);
void fixture_teardown(void);
const char *fixture_instance(void);
bool fixture_is_private(void); /* whether the test has a network namespace of its own */
/* The first address of the client's device 0 as text. */
const char *fixture_address(struct ctl_client *client, char text[static CTL_GID_STR_MAX]);
/* Returns and clears the last log line; "": none. */
const char *fixture_log(void);

/* Runs the server or the command with these arguments (up to a NULL) and waits. Returns its exit
 * status. */
int fixture_command(const char *arg, ...) __attribute__((sentinel));
/* The same, with its output as far as it fits. */
int fixture_output(char *ret, size_t len, const char *arg, ...) __attribute__((sentinel));

/* A program on device 0 with a context and a PD. */
struct program {
	struct ctl_client *client;
	struct ctl_attachment at;
	struct ctl_context context;
	uint32_t pd;
};
void program_open(struct program *ret);
void program_close(struct program *program);
uint32_t program_reg(struct program *program, const void *addr, uint64_t len, uint32_t *ret_key);
uint32_t program_reg_dm(struct program *program, uint32_t dm, uint64_t offset, uint64_t len);

/* Starts a child process that runs what and exits with 0 unless a check fails. */
pid_t child_start(void (*what)(int channel), int *ret_channel);
/* Wait for a byte of the other side, or send one. */
void channel_wait(int channel);
void channel_say(int channel);
int child_wait(pid_t pid); /* status of waitpid */
void child_kill(pid_t pid);

/* Number of objects of a kind of device 0, and of programs, as a command sees them. */
uint32_t fixture_objects(enum ctl_kind kind);
uint32_t fixture_programs(void);
/* Repeat the question for at most five seconds until there are count. */
void fixture_await_objects(enum ctl_kind kind, uint32_t count);
void fixture_await_programs(uint32_t count);

/* Runs these cases, up to a NULL. */
int fixture_main(const char *name, TCase *const *tcases);

#endif
