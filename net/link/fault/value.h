/* SPDX-License-Identifier: MIT */
/* Values in fault rules, and the words of rules above the wire: private to net/link/fault_*.c. */
#ifndef RXE_LINK_FAULT_VALUE_H
#define RXE_LINK_FAULT_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link/fault/fault.h"

#define FAULT_WORD_MAX 96

bool fault_parse_number(const char *text, uint64_t max, uint64_t *ret);
bool fault_parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *ret);
/* "7" or "3..7"; the second may be the smaller one, for what wraps. */
bool fault_parse_range(const char *text, uint32_t min, uint32_t max, struct fault_range *ret);
bool fault_parse_rising(const char *text, uint32_t min, uint32_t max, struct fault_range *ret);
bool fault_parse_duration(const char *text, uint64_t max_ns, uint64_t *ret);

/* errno.c: "ENOMEM" for ENOMEM; NULL if the number has no name. */
const char *fault_errno_name(int error);

/* fault_above.c */
bool fault_word_side(struct fault_rule *rule, const char *value);
bool fault_word_status(struct fault_rule *rule, const char *value);
bool fault_word_name(struct fault_rule *rule, const char *value);
bool fault_word_errno(struct fault_rule *rule, const char *value);
bool fault_word_after(struct fault_rule *rule, const char *value);
bool fault_word_index(struct fault_rule *rule, const char *value);
bool fault_word_gid(struct fault_rule *rule, const char *value);
bool fault_word_to(struct fault_rule *rule, const char *value);

#endif
