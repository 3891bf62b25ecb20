/* SPDX-License-Identifier: MIT */
/* The key table's one writer. A key is index << 16 | tag, both random: who does not know a key guesses among 2^32. A freed index rests
 * until nobody can be reading it and many others have been used, and comes back with a tag that it did not have for a while. */
#ifndef RXE_DM_SERVER_KEY_H
#define RXE_DM_SERVER_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "rxe_dm/server/grace.h"

#define KEY_REST 1024 /* freed indexes before one is used again */

struct keys {
	struct rxe_mr_table *table;
	struct grace *grace;
	uint64_t *stamp;  /* by index, of those that rest: since when */
	uint32_t *behind; /* who comes next */
	uint32_t first, last, num_resting;
	uint16_t *order;  /* indexes in the order in which they are first used; 0 is none's */
	uint32_t fresh;	  /* the first of them never used */
	uint16_t *tag;	  /* by index: the last used */
	uint32_t granted; /* how many there are */
};

bool keys_init(struct keys *ret, struct rxe_mr_table *table, struct grace *grace);
void keys_fini(struct keys *keys);
/* Publish an entry (its key is chosen here). 0: the table is full, or what is free still rests. */
uint32_t keys_grant(struct keys *keys, const struct rxe_mr *entry);
/* The same, and the key ends in this byte. */
uint32_t keys_grant_low(struct keys *keys, const struct rxe_mr *entry, uint8_t low);
/* Give a key another meaning: hidden it is dead, and when its stamp's grace period is over it may be shown again, with a new
 * entry, or as it was (NULL). */
uint64_t keys_hide(struct keys *keys, uint32_t key);
void keys_show(struct keys *keys, uint32_t key, const struct rxe_mr *entry);
/* The key is dead when this returns; returns the stamp of its grace period. */
uint64_t keys_revoke(struct keys *keys, uint32_t key);

#endif
