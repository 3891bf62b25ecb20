/* SPDX-License-Identifier: MIT */
/* The parts that a build may leave out (meson_options.txt), 1: this build has the part. The files
 * of a part that is left out are not compiled. Calls into it depend on its constant, so that the
 * compiler removes them. No such call runs: profiles offer nothing of the part
 * (lib/control/profile.c), so the verbs refuse what would need it. */
#ifndef RXE_EMU_SUPPORTED_H
#define RXE_EMU_SUPPORTED_H

/* Raw packet queue pairs, work queues, flows and their counters. */
#ifdef RXE_DM_WITHOUT_RAW
#define RXE_RAW_SUPPORTED 0
#else
#define RXE_RAW_SUPPORTED 1
#endif

/* FLUSH, and the thread that writes to the files of what it covers. */
#ifdef RXE_DM_WITHOUT_PERSISTENCE
#define RXE_PERSISTENCE_SUPPORTED 0
#else
#define RXE_PERSISTENCE_SUPPORTED 1
#endif

#endif
