// SPDX-License-Identifier: MIT
/* Lets programs with a shared sanitizer runtime run where a library of ours is preloaded. Part of
 * each library that `rxe_dm run` preloads.
 *
 * Preloaded libraries come first in the list of libraries. The runtime of the address sanitizer
 * ends a program in which another library comes before it, because that library could replace
 * malloc(3). The preloaded libraries call the next definition of what they replace, which is the
 * runtime's. The runtime calls this function for its options,
 * before it reads ASAN_OPTIONS; a program's own definition comes before this one. */

const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
