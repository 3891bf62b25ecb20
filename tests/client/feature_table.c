// SPDX-License-Identifier: MIT
/* The table of features, as the library was generated with it. */
#include "feature_table.h"

static struct feature features[] = {
#define SECTION(title)
#define FEATURE(library, function, state, note) { #library, #function, state, false, false },
#include "lib/abi/features.inc"
};
#define FEATURES (sizeof(features) / sizeof(features[0]))

struct feature *feature_find(const char *name)
{
	for (size_t i = 0; i < FEATURES; i++)
		if (strcmp(features[i].name, name) == 0)
			return &features[i];
	ck_abort_msg("%s is not in the table", name);
	return NULL;
}

struct feature *feature_at(size_t i)
{
	return i < FEATURES ? &features[i] : NULL;
}
