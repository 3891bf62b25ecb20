/* SPDX-License-Identifier: MIT */
/* The matching list of a tag-matching SRQ: tagged buffers in the order in which they were added.
 * Pure: tag_matching.h feeds it with messages and operations.
 *
 * A message that matches no entry is unexpected: the program matches it, against buffers that it
 * has not added yet. Until it has done so, an entry that is added now might take a later message
 * of the same tag, out of order. So both sides count unexpected messages. While the program's
 * count, which comes with its operations, is not the list's, entries that are added stay disabled;
 * when the counts agree all of them are enabled. */
#ifndef RXE_EMU_TAG_LIST_H
#define RXE_EMU_TAG_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/queue.h"

/* A tagged buffer. */
struct rxe_tag_entry {
	uint64_t tag, mask; /* takes a message if (message's tag & mask) == tag */
	uint64_t wr_id;	    /* of the receive completion */
	uint32_t next;	    /* in its list, or among free entries */
	uint32_t uses;	    /* counts up with each addition: distinguishes handles */
	bool is_listed, is_enabled;
	uint32_t len; /* sum of the SGEs */
	uint32_t num_sge;
	struct rxe_sge sge[];
};

struct rxe_tag_list {
	uint8_t *mem; /* the caller's */
	size_t stride;
	uint32_t max, max_sge;
	uint32_t first, last, free; /* RXE_MAX_TAGS: none */
	uint32_t num;
	uint32_t unexpected; /* messages; wraps */
	uint32_t handled;    /* of these, as the program last reported */
};

size_t rxe_tag_list_bytes(uint32_t max, uint32_t max_sge);
void rxe_tag_list_init(struct rxe_tag_list *list, void *mem, uint32_t max, uint32_t max_sge);
/* POST_FULL: max entries are listed. *ret_handle names the entry. */
enum post_result rxe_tag_list_add(struct rxe_tag_list *list, uint64_t tag, uint64_t mask,
				  const struct rxe_recv_wr *wr, uint32_t *ret_handle);
/* The oldest enabled entry that takes the tag, or NULL. */
struct rxe_tag_entry *rxe_tag_list_match(const struct rxe_tag_list *list, uint64_t tag);
/* The entry of a handle, or NULL: it was taken, or removed. */
struct rxe_tag_entry *rxe_tag_list_find(const struct rxe_tag_list *list, uint32_t handle);
/* Takes the entry out of the list. Its content stays until the next addition. */
void rxe_tag_list_remove(struct rxe_tag_list *list, struct rxe_tag_entry *entry);
/* The program has handled this many unexpected messages. */
void rxe_tag_list_handled(struct rxe_tag_list *list, uint32_t count);
static inline bool rxe_tag_list_in_sync(const struct rxe_tag_list *list)
{
	return list->handled == list->unexpected;
}

#endif
