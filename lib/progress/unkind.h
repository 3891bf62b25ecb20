/* SPDX-License-Identifier: MIT */
/* Puts the unkind device (lib/unkind, net/link/unkind) into the stacks of a device, where the
 * program's user asked for it by RXE_DM_WORST. */
#ifndef RXE_PROGRESS_UNKIND_H
#define RXE_PROGRESS_UNKIND_H

struct link;
struct progress_unkind;
struct rxe_engine;
struct rxe_engine_cfg;

/* The device's link opens. NULL: not asked for; or no memory or a bad RXE_DM_WORST, and the log
 * says so. */
struct progress_unkind *progress_unkind_open(void);
/* NULL is allowed. */
void progress_unkind_close(struct progress_unkind *unkind);
/* Returns the link that holds arrivals back over below; below itself where that switch is off. */
struct link *progress_unkind_over(struct progress_unkind *unkind, struct link *below);
/* Puts the layer between the engine and its host, before rxe_engine_init(). */
void progress_unkind_layer(struct progress_unkind *unkind, struct rxe_engine *engine,
			   struct rxe_engine_cfg *cfg);

#endif
