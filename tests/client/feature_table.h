/* SPDX-License-Identifier: MIT */
/* lib/abi/features.tsv as a table, and the calls that compare it with the library. */
#ifndef TESTS_CLIENT_FEATURE_TABLE_H
#define TESTS_CLIENT_FEATURE_TABLE_H

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum state {
	WORKS,
	PARTLY,
	REFUSED,
};

struct feature {
	const char *library, *name;
	enum state state;
	bool good, refused; /* seen here */
};

/* Fails the test when the table has no such function. */
struct feature *feature_find(const char *name);
/* NULL after the last one. */
struct feature *feature_at(size_t i);

/* The call succeeds. */
#define GOOD(function, call)                                                                       \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_msg((call), #function " is in the table, and fails: %s",                 \
			      strerror(errno));                                                    \
		feature_find(#function)->good = true;                                              \
	} while (0)
/* The condition says that it fails; then it is not there. */
#define NOT_THERE(function, failed)                                                                \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_msg((failed) && errno == EOPNOTSUPP, #function ": %s", strerror(errno)); \
		feature_find(#function)->refused = true;                                           \
	} while (0)
/* No answer shows it. */
#define CALLED(function, call)                                                                     \
	do {                                                                                       \
		call;                                                                              \
		feature_find(#function)->good = true;                                              \
	} while (0)

#endif
