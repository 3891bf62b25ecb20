// SPDX-License-Identifier: MIT
/* Finds a libibverbs inside a program among its read-only mappings; malformed files are ignored. */
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "rxe_dm/command/run.h"
#include "tests/suite.h"

#define PARTS 2

static struct {
	Elf64_Ehdr header;
	Elf64_Phdr part[PARTS];
	char text[PARTS][64];
} image;

static void make(const char *first, const char *second)
{
	memset(&image, 0, sizeof(image));
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_phoff = sizeof(image.header);
	image.header.e_phentsize = sizeof(image.part[0]);
	image.header.e_phnum = PARTS;
	for (int i = 0; i < PARTS; i++)
		image.part[i] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R,
			.p_offset = (Elf64_Off)((uint8_t *)image.text[i] - (uint8_t *)&image),
			.p_filesz = sizeof(image.text[i]),
		};
	strcpy(image.text[0] + 7, first);
	strcpy(image.text[1] + 9, second);
}

static bool linked(size_t len)
{
	/* A copy in memory of exactly that size, for the address sanitizer. */
	uint8_t *copy = (uint8_t *)malloc(len + !len);
	bool ret;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, &image, len);
	ret = verbs_linked(copy, len);
	free(copy);
	return ret;
}

START_TEST(both_names)
{
	make("RDMAV_FORK_SAFE", "IBV_SHOW_WARNINGS");
	ck_assert(linked(sizeof(image)));
	make("RDMAV_FORK_SAFE", "IBV_SHOW_WARNING");
	ck_assert(!linked(sizeof(image)));
	make("RDMAV_FORK_SAFETY", "IBV_SHOW_WARNINGS");
	ck_assert(!linked(sizeof(image)));
}
END_TEST

START_TEST(only_what_is_loaded)
{
	make("RDMAV_FORK_SAFE", "IBV_SHOW_WARNINGS");
	image.part[1].p_type = PT_NOTE;
	ck_assert(!linked(sizeof(image)));
	image.part[1].p_type = PT_LOAD;
	image.part[1].p_flags = PF_R | PF_W;
	ck_assert(!linked(sizeof(image)));
}
END_TEST

START_TEST(malformed)
{
	make("RDMAV_FORK_SAFE", "IBV_SHOW_WARNINGS");
	for (size_t len = 0; len < sizeof(image); len++)
		ck_assert(!linked(len));
	image.part[0].p_offset = UINT64_MAX - 4;
	ck_assert(!linked(sizeof(image)));
	make("RDMAV_FORK_SAFE", "IBV_SHOW_WARNINGS");
	image.part[0].p_filesz = UINT64_MAX;
	ck_assert(!linked(sizeof(image)));
	make("RDMAV_FORK_SAFE", "IBV_SHOW_WARNINGS");
	image.header.e_phoff = UINT64_MAX;
	ck_assert(!linked(sizeof(image)));
	make("RDMAV_FORK_SAFE", "IBV_SHOW_WARNINGS");
	image.header.e_phnum = UINT16_MAX;
	ck_assert(!linked(sizeof(image)));
	make("RDMAV_FORK_SAFE", "IBV_SHOW_WARNINGS");
	image.header.e_ident[0] = '#';
	ck_assert(!linked(sizeof(image)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs_linked");
	TCase *tcase = tcase_create("verbs_linked");

	tcase_add_test(tcase, both_names);
	tcase_add_test(tcase, only_what_is_loaded);
	tcase_add_test(tcase, malformed);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
