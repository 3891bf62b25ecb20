// SPDX-License-Identifier: MIT
/* A sentence that grows, and is cut off at its size. */
#include <stdarg.h>
#include <stdio.h>

#include "lib/diagnose/cause.h"

void say(struct sentence *s, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->text + s->len, s->size - s->len, format, args);
	va_end(args);
	s->len += n > 0 ? (size_t)n : 0;
	if (s->len >= s->size)
		s->len = s->size - 1;
}
