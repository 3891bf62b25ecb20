/* SPDX-License-Identifier: MIT */
/* Values in fault rules, and the words of rules above the wire: private to lib/inject. */
#ifndef RXE_INJECT_VALUE_H
#define RXE_INJECT_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/inject/rule.h"

#define INJECT_WORD_MAX	       96
#define INJECT_PROBABILITY_ONE 4294967296.0 /* fault_rule.probability is a part of it */

bool inject_parse_number(const char *text, uint64_t max, uint64_t *ret);
bool inject_parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *ret);
/* "7" or "3..7"; the second may be the smaller one, for what wraps. */
bool inject_parse_range(const char *text, uint32_t min, uint32_t max, struct fault_range *ret);
bool inject_parse_rising(const char *text, uint32_t min, uint32_t max, struct fault_range *ret);
bool inject_parse_duration(const char *text, uint64_t max_ns, uint64_t *ret);

/* Adds each pattern of a list with commas to the rule, and copies the list to ret. */
bool inject_parse_list(struct inject_rule *rule, const char *value,
		       bool (*add)(struct inject_rule *rule, const char *pattern),
		       char ret[static FAULT_PATTERN_MAX]);

/* "ENOMEM" for ENOMEM; NULL if the number has no name. */
const char *inject_errno_name(int error);

/* above.c */
bool inject_word_side(struct inject_rule *rule, const char *value);
bool inject_word_status(struct inject_rule *rule, const char *value);
bool inject_word_name(struct inject_rule *rule, const char *value);
bool inject_word_errno(struct inject_rule *rule, const char *value);
bool inject_word_after(struct inject_rule *rule, const char *value);
bool inject_word_gid(struct inject_rule *rule, const char *value);
bool inject_word_message(struct inject_rule *rule, const char *value);
bool inject_word_to(struct inject_rule *rule, const char *value);

#endif
