/* SPDX-License-Identifier: MIT */
/* Puts the unkind device (lib/unkind, net/link/unkind) into the stacks of a device, where the
 * program's user asked for it by RXE_DM_WORST. */
#ifndef RXE_PROGRESS_UNKIND_H
#define RXE_PROGRESS_UNKIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/unkind/plan.h"

struct link;
struct progress_unkind;
struct rxe_engine;
struct rxe_engine_cfg;
struct rxe_mr;
struct rxe_ring;

/* Whether the user asked for this. Before the device's link is open. */
bool progress_unkind_asked(enum unkind_switch which);

/* The device's link opens. NULL: not asked for; or no memory or a bad RXE_DM_WORST, and the log
 * says so. */
struct progress_unkind *progress_unkind_open(void);
/* NULL is allowed. */
void progress_unkind_close(struct progress_unkind *unkind);
/* Returns the link that holds arrivals back over below; below itself where that switch is off. */
struct link *progress_unkind_over(struct progress_unkind *unkind, struct link *below);
/* Called before bytes are stored, as about_to_store() of struct unkind_cfg. */
typedef void progress_unkind_look(void *host, const struct rxe_mr *mr, uint64_t iova, size_t len);
/* Puts the layer between the engine and its host, before rxe_engine_init(). */
void progress_unkind_layer(struct progress_unkind *unkind, struct rxe_engine *engine,
			   struct rxe_engine_cfg *cfg, progress_unkind_look *look);
/* As unkind_fill_receives(). Under the engine lock, with the slot's gauge raised, in a turn of
 * memory.h. */
void progress_unkind_fill_receives(const struct progress_unkind *unkind, uint32_t pd,
				   const struct rxe_ring *ring, uint32_t from);
/* Fills device memory that was just allocated. unkind NULL: nothing happens. */
void progress_unkind_fill_dm(const struct progress_unkind *unkind, uint8_t *bytes, size_t len);

#endif
