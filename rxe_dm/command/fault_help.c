// SPDX-License-Identifier: MIT
/* The language of fault rules in `rxe_dm fault --help`, printed from the tables that parse it. */
#include <stdio.h>
#include <string.h>

#include "lib/inject/rule.h"
#include "net/wire/opcode.h"
#include "rxe_dm/command/command.h"

#define WIDTH 96

/* Names, wrapped into lines. */
struct paragraph {
	size_t column;
};

static void put_name(struct paragraph *p, const char *name)
{
	if (p->column == 0 || p->column + strlen(name) + 1 > WIDTH) {
		printf(p->column ? "\n   " : "   ");
		p->column = 3;
	}
	p->column += (size_t)printf(" %s", name);
}

static void print_actions(void)
{
	struct inject_word_help word;

	for (uint32_t action = 0; action < INJECT_ACTIONS; action++) {
		printf("  %-14s %s\n", inject_action_str(action), inject_action_help(action));
		for (uint32_t i = 0; inject_word_help(&word, i); i++) {
			if (!word.selects && word.actions >> action & 1)
				printf("      %s=%*s%s\n", word.key, 10 - (int)strlen(word.key), "",
				       word.expects);
		}
	}
}

/* Those of packets, and which of them completions and verbs have too. */
static void print_selectors(void)
{
	struct inject_word_help word;

	for (uint32_t i = 0; inject_word_help(&word, i); i++) {
		if (!word.selects)
			continue;
		printf("  %s=%*s%s%s\n", word.key, 13 - (int)strlen(word.key), "", word.expects,
		       word.actions >> INJECT_VERB & 1	       ? " (completions and verbs too)"
		       : word.actions >> INJECT_COMPLETION & 1 ? " (completions too)"
							       : "");
	}
}

/* Each once, whatever services have it. */
static void print_opcodes(void)
{
	struct paragraph p = { 0 };

	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		bool known = false;

		for (uint32_t before = 0; before < opcode; before++)
			known |= wire_shape((uint8_t)before) &&
				 strcmp(wire_op_str((uint8_t)before),
					wire_op_str((uint8_t)opcode)) == 0;
		if (wire_shape((uint8_t)opcode) && !known)
			put_name(&p, wire_op_str((uint8_t)opcode));
	}
	printf("\n");
}

static void print_verbs(void)
{
	struct paragraph p = { 0 };

	for (uint32_t verb = 0; verb < INJECT_VERBS; verb++)
		put_name(&p, inject_verb_str((enum inject_verb)verb));
	printf("\n");
}

void fault_help(void)
{
	printf("\nA rule is an action, then words in any order. Actions, and their words:\n\n");
	print_actions();
	printf("\nWhich packets, and when (nth= and every= count for each queue pair, direction "
	       "and opcode):\n\n");
	print_selectors();
	printf("\nNames for opcode=, with or without RC_, UC_, UD_ or XRC_ before them:\n\n");
	print_opcodes();
	printf("\nNames for name=:\n\n");
	print_verbs();
	printf("\nFor example:\n\n"
	       "  rxe_dm fault add drop opcode=ACKNOWLEDGE nth=3\n"
	       "  rxe_dm fault add rnr_nak dir=in opcode=SEND_* nth=1..5\n"
	       "  rxe_dm fault add completion status=IBV_WC_RETRY_EXC_ERR side=send qp=#0 nth=3\n"
	       "  rxe_dm fault add verb name=ibv_reg_mr errno=ENOMEM nth=2\n"
	       "  rxe_dm fault add port_down after=2s time=200ms\n");
}
