// SPDX-License-Identifier: MIT
/* usage: mistakes NAME [right]: runs the wrong program, or the right one. --list: their names. */
#include <stdio.h>
#include <string.h>

#include "mistakes.h"

static const struct mistake {
	const char *name;
	void (*run)(bool right);
} mistakes[] = {
#define X(name) { #name, name },
	MISTAKES(X)
#undef X
};
#define NUM_MISTAKES (sizeof(mistakes) / sizeof(mistakes[0]))

int main(int argc, char **argv)
{
	for (size_t i = 0; i < NUM_MISTAKES; i++) {
		if (argc == 2 && strcmp(argv[1], "--list") == 0)
			puts(mistakes[i].name);
		if (argc >= 2 && strcmp(argv[1], mistakes[i].name) == 0) {
			mistakes[i].run(argc > 2);
			return 0;
		}
	}
	return argc == 2 && strcmp(argv[1], "--list") == 0 ? 0 : 98;
}
