/* SPDX-License-Identifier: MIT */
/* The parts of verbs_features that stand in files of their own. */
#ifndef TESTS_CLIENT_VERBS_FEATURES_H
#define TESTS_CLIENT_VERBS_FEATURES_H

struct end;

/* verbs_features_raw.c: flows, work queues, counters. */
void features_raw(struct end *end);

#endif
