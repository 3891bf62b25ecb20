/* SPDX-License-Identifier: MIT */
/* main() for compilers without libFuzzer: each named file, and each file of a named folder, goes to
 * the target once. So the corpora are tests in every build. A missing folder has no findings. */
#include <dirent.h>
#include <errno.h>

#include "tests/fuzz/target.h"

#define MOST_BYTES (1u << 20)

static size_t ran;

static bool run_file(const char *path)
{
	static uint8_t bytes[MOST_BYTES];
	FILE *file = fopen(path, "rbe");
	size_t len;

	if (!file)
		return false;
	len = fread(bytes, 1, sizeof(bytes), file);
	if (ferror(file)) {
		(void)fclose(file);
		return false;
	}
	(void)fclose(file);
	(void)LLVMFuzzerTestOneInput(bytes, len);
	ran++;
	return true;
}

static bool run_folder(const char *path)
{
	struct dirent **names;
	char file[4096];
	int n = scandir(path, &names, NULL, alphasort);
	bool good = true;

	if (n < 0)
		return errno == ENOENT;
	for (int i = 0; i < n; i++) {
		(void)snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && !run_file(file)) {
			(void)fprintf(stderr, "%s: %s\n", file, strerror(errno));
			good = false;
		}
		free(names[i]);
	}
	free(names);
	return good;
}

int main(int argc, char **argv)
{
	bool good = true;

	(void)LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		if (run_folder(argv[i]) || (errno == ENOTDIR && run_file(argv[i])))
			continue;
		(void)fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
		good = false;
	}
	(void)printf("%zu inputs\n", ran);
	return good && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
