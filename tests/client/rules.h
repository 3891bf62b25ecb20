/* SPDX-License-Identifier: MIT */
/* Fault rules from within a test program: the command is run (RXE_TEST_COMMAND names it). */
#ifndef TESTS_CLIENT_RULES_H
#define TESTS_CLIENT_RULES_H

/* rxe_dm fault WHAT, as in "add drop nth=3" or "clear". */
void fault(const char *what);
/* How often the rules fired whose text has this in it. */
unsigned long fired(const char *rule);

#endif
