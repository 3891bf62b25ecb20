/* SPDX-License-Identifier: MIT */
/* Settings of an instance: RXE_DM_* variables and options of the command, from one table. */
#ifndef RXE_CONTROL_SETTINGS_H
#define RXE_CONTROL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/control/protocol.h"

#define CTL_WHY_MAX	      256
#define CTL_PATH_MAX	      256
#define CTL_ALLOWED_USERS_MAX 16
#define CTL_LINK_AUTO	      3u /* UDP where the kernel can steer its sockets, else memory */

struct ctl_settings {
	char instance[CTL_NAME_MAX + 1];
	struct gid address[CTL_DEVICE_MAX];
	uint32_t prefix_len[CTL_DEVICE_MAX]; /* of each address; 0: not given */
	uint32_t num_addresses;		     /* 0: choose free ones in 127.0.0.0/8 */
	uint32_t link;			     /* enum ctl_link, or CTL_LINK_AUTO */
	char interface[16]; /* CTL_LINK_ETHERNET: name of the interface; "": not given */
	struct gid gateway; /* CTL_LINK_ETHERNET; zeros: none */
	uint32_t devices;
	uint32_t slots; /* most processes on one device, plus 1 for the server */
	uint32_t linger_s;
	uint64_t arena_bytes;
	enum ctl_arena_pages arena_pages;
	uint32_t trains, icrc, mlx5, raw_privilege; /* 0 or 1 */
	uint32_t stopped;			    /* enum ctl_stopped */
	/* Users of this host whose devices may send to ours. */
	uint32_t allowed_user[CTL_ALLOWED_USERS_MAX];
	uint32_t num_allowed_users;
	bool allow_all_users;	    /* every user of this host may */
	char faults[CTL_PATH_MAX];  /* file of fault rules; "" for none */
	char profile[CTL_PATH_MAX]; /* name of an installed profile, or path of a file */
};

struct ctl_setting {
	const char *option; /* address: --address */
	const char *env;    /* RXE_DM_ADDRESS */
	const char *argument;
	const char *help;
	const char *expects; /* for messages: "an IPv4 or IPv6 address of this machine" */
	bool (*parse)(struct ctl_settings *settings, const char *value);
	/* Where parse is NULL: offset of a uint32_t or an enum, and the bounds of a number or the
	 * words for 0 to max, after which further words begin with 0 again. */
	size_t at;
	uint32_t min, max;
	const char *const *words;
};

extern const struct ctl_setting ctl_setting_table[];
extern const size_t ctl_setting_count;

void ctl_settings_init(struct ctl_settings *ret);
const struct ctl_setting *ctl_setting_find(const char *option);
/* False: the value is refused, and why names the setting, the value and what is expected. name: the
 * variable or option as the user knows it. */
bool ctl_settings_set(struct ctl_settings *settings, const struct ctl_setting *setting,
		      const char *name, const char *value, char why[static CTL_WHY_MAX]);
/* An unset or empty variable changes nothing. */
bool ctl_setting_from_env(struct ctl_settings *settings, const struct ctl_setting *setting,
			  char why[static CTL_WHY_MAX]);
bool ctl_settings_from_env(struct ctl_settings *settings, char why[static CTL_WHY_MAX]);
/* Checks that the settings fit each other, and sets devices from the addresses. False: see why. */
bool ctl_settings_check(struct ctl_settings *settings, char why[static CTL_WHY_MAX]);

/* The settings of a running server, in a file under /dev/shm (saved_settings.c). A server that ends
 * in order removes the file; a killed server leaves it, and the next server of the instance takes
 * over its settings, above all its addresses, which peers know. Best effort: without /dev/shm
 * nothing is saved, and a file of another user is not read. */

/* Saves the settings of a server that is up. stays: the server runs until 'rxe_dm stop'. */
void ctl_saved_write(const struct ctl_settings *settings, bool stays);
/* A server of this user that runs the instance in another network namespace, whose inode it returns
 * as well. 0: none is known. */
pid_t ctl_saved_elsewhere(const char *instance, unsigned long long *ret_namespace);
/* The instance ends in order: the next server begins with defaults. */
void ctl_saved_remove(const char *instance);
/* Replaces defaults in settings by those of a killed server. Values from the environment win; if it
 * sets an address, a link or the number of devices, nothing is taken. True: such settings were
 * found; *ret_stays: that server was to run until 'rxe_dm stop'. */
bool ctl_saved_read(struct ctl_settings *settings, bool *ret_stays);

/* "127.0.0.1" or "fd00::1". */
#define CTL_GID_STR_MAX 48
const char *ctl_gid_str(const struct gid *gid, char ret[static CTL_GID_STR_MAX]);
bool ctl_gid_parse(struct gid *ret, const char *text);

#endif
