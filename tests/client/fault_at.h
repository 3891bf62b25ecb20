/* SPDX-License-Identifier: MIT */
/* A program that handles SIGSEGV and SIGBUS: counts each, and recovers. */
#ifndef TESTS_FAULT_AT_H
#define TESTS_FAULT_AT_H

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>

static sigjmp_buf back;
static volatile sig_atomic_t segv_calls, bus_calls;

static void on_segv(int sig)
{
	(void)sig;
	segv_calls++;
	siglongjmp(back, 1);
}

static void on_bus(int sig)
{
	(void)sig;
	bus_calls++;
	siglongjmp(back, 1);
}

/* Writes to a page; its fault calls a handler. */
static void fault_at(volatile uint8_t *p)
{
	if (sigsetjmp(back, 1) == 0)
		*p = 1;
}

#endif
