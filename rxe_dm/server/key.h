/* SPDX-License-Identifier: MIT */
/* The only writer of the key table. A key is index << 16 | tag, both random: a guess hits with a
 * probability of 1 in 2^32. A freed index rests until no process can still read the entry and many
 * other indexes have been used, and returns with another tag. */
#ifndef RXE_DM_SERVER_KEY_H
#define RXE_DM_SERVER_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/shared.h"
#include "rxe_dm/server/index_queue.h"

#define KEY_REST 1024 /* freed indexes before one is used again */

struct keys {
	struct rxe_mr_table *table;
	struct grace *grace;
	uint64_t *stamp; /* by index, of resting indexes: the grace period's stamp */
	struct index_queue resting;
	uint16_t *order;  /* indexes in the order of their first use; index 0 is never used */
	uint32_t fresh;	  /* place in order of the first index never used */
	uint16_t *tag;	  /* by index: the tag used last */
	uint32_t granted; /* number of live keys */
};

bool keys_init(struct keys *ret, struct rxe_mr_table *table, struct grace *grace);
void keys_fini(struct keys *keys);
/* Publishes an entry under a new key, and returns the key. 0: the table is full. low: CTL_KEY_LOW
 * and the lowest byte that the key must have, or 0. */
uint32_t keys_grant(struct keys *keys, const struct rxe_mr *entry, uint32_t low);
/* Change the entry of a key: keys_hide() makes the key dead and returns a stamp; after the stamp's
 * grace period keys_show() publishes the key again, with a new entry or as it was (NULL). */
uint64_t keys_hide(struct keys *keys, uint32_t key);
void keys_show(struct keys *keys, uint32_t key, const struct rxe_mr *entry);
/* The key is dead when this returns. Returns the stamp of its grace period. */
uint64_t keys_revoke(struct keys *keys, uint32_t key);

#endif
