/* SPDX-License-Identifier: MIT */
/* Pages at a place where nothing is mapped but by the test. */
#ifndef TESTS_CLIENT_PAGES_H
#define TESTS_CLIENT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE  4096u
#define PAGES 16u
#define BYTES (PAGES * PAGE)

/* BYTES where nothing is mapped, and nothing will be by itself. */
uint8_t *pages_place(void);
/* Fresh private pages there, none of them present, in place of what was there. */
void pages_map(uint8_t *place, int prot);
void pages_unmap(uint8_t *place);
/* A file that is BYTES long at most; the access to what is beyond its end is a SIGBUS. */
void pages_map_file(uint8_t *place, int fd);
bool pages_present(const uint8_t *place, uint32_t page);
uint32_t pages_num_present(const uint8_t *place);

#endif
