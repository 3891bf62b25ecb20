// SPDX-License-Identifier: MIT
/* Values in fault rules. Each parser answers whether the whole text was good. Names of error
 * numbers: glibc alone has strerrorname_np(). */
#include "lib/inject/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool inject_parse_number(const char *text, uint64_t max, uint64_t *ret)
{
	char *end;
	unsigned long long value;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end || value > max)
		return false;
	*ret = value;
	return true;
}

bool inject_parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *ret)
{
	uint64_t value;

	if (!inject_parse_number(text, max, &value) || value < min)
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool inject_parse_range(const char *text, uint32_t min, uint32_t max, struct fault_range *ret)
{
	const char *dots = strstr(text, "..");
	char first[INJECT_WORD_MAX];

	if (!dots) {
		ret->set = inject_parse_u32(text, min, max, &ret->first);
		ret->last = ret->first;
		return ret->set;
	}
	if ((size_t)(dots - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(dots - text));
	first[dots - text] = '\0';
	ret->set = inject_parse_u32(first, min, max, &ret->first) &&
		   inject_parse_u32(dots + 2, min, max, &ret->last);
	return ret->set;
}

bool inject_parse_rising(const char *text, uint32_t min, uint32_t max, struct fault_range *ret)
{
	return inject_parse_range(text, min, max, ret) && ret->first <= ret->last;
}

bool inject_parse_duration(const char *text, uint64_t max_ns, uint64_t *ret)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double value;

	if (*text < '0' || *text > '9')
		return false;
	value = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		if (value * units[i].ns > (double)max_ns)
			return false;
		*ret = (uint64_t)(value * units[i].ns + 0.5);
		return true;
	}
	return false;
}

bool inject_parse_list(struct inject_rule *rule, const char *value,
		       bool (*add)(struct inject_rule *rule, const char *pattern),
		       char ret[static FAULT_PATTERN_MAX])
{
	char list[FAULT_PATTERN_MAX], *save = NULL;

	if (strlen(value) >= sizeof(list) || !*value)
		return false;
	memcpy(list, value, strlen(value) + 1);
	for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		if (!add(rule, p))
			return false;
	}
	memcpy(ret, value, strlen(value) + 1);
	return true;
}

const char *inject_errno_name(int error)
{
	/* clang-format off */
#define N(name) [name] = #name
	static const char *const names[] = {
		N(EPERM), N(ENOENT), N(ESRCH), N(EINTR), N(EIO), N(ENXIO), N(E2BIG), N(ENOEXEC),
		N(EBADF), N(ECHILD), N(EAGAIN), N(ENOMEM), N(EACCES), N(EFAULT), N(ENOTBLK),
		N(EBUSY), N(EEXIST), N(EXDEV), N(ENODEV), N(ENOTDIR), N(EISDIR), N(EINVAL),
		N(ENFILE), N(EMFILE), N(ENOTTY), N(ETXTBSY), N(EFBIG), N(ENOSPC), N(ESPIPE),
		N(EROFS), N(EMLINK), N(EPIPE), N(EDOM), N(ERANGE), N(EDEADLK), N(ENAMETOOLONG),
		N(ENOLCK), N(ENOSYS), N(ENOTEMPTY), N(ELOOP), N(ENOMSG), N(EIDRM), N(ECHRNG),
		N(EL2NSYNC), N(EL3HLT), N(EL3RST), N(ELNRNG), N(EUNATCH), N(ENOCSI), N(EL2HLT),
		N(EBADE), N(EBADR), N(EXFULL), N(ENOANO), N(EBADRQC), N(EBADSLT), N(EBFONT),
		N(ENOSTR), N(ENODATA), N(ETIME), N(ENOSR), N(ENONET), N(ENOPKG), N(EREMOTE),
		N(ENOLINK), N(EADV), N(ESRMNT), N(ECOMM), N(EPROTO), N(EMULTIHOP), N(EDOTDOT),
		N(EBADMSG), N(EOVERFLOW), N(ENOTUNIQ), N(EBADFD), N(EREMCHG), N(ELIBACC),
		N(ELIBBAD), N(ELIBSCN), N(ELIBMAX), N(ELIBEXEC), N(EILSEQ), N(ERESTART),
		N(ESTRPIPE), N(EUSERS), N(ENOTSOCK), N(EDESTADDRREQ), N(EMSGSIZE), N(EPROTOTYPE),
		N(ENOPROTOOPT), N(EPROTONOSUPPORT), N(ESOCKTNOSUPPORT), N(EOPNOTSUPP),
		N(EPFNOSUPPORT), N(EAFNOSUPPORT), N(EADDRINUSE), N(EADDRNOTAVAIL), N(ENETDOWN),
		N(ENETUNREACH), N(ENETRESET), N(ECONNABORTED), N(ECONNRESET), N(ENOBUFS),
		N(EISCONN), N(ENOTCONN), N(ESHUTDOWN), N(ETOOMANYREFS), N(ETIMEDOUT),
		N(ECONNREFUSED), N(EHOSTDOWN), N(EHOSTUNREACH), N(EALREADY), N(EINPROGRESS),
		N(ESTALE), N(EUCLEAN), N(ENOTNAM), N(ENAVAIL), N(EISNAM), N(EREMOTEIO),
		N(EDQUOT), N(ENOMEDIUM), N(EMEDIUMTYPE), N(ECANCELED), N(ENOKEY), N(EKEYEXPIRED),
		N(EKEYREVOKED), N(EKEYREJECTED), N(EOWNERDEAD), N(ENOTRECOVERABLE), N(ERFKILL),
		N(EHWPOISON),
	};
#undef N
	/* clang-format on */

	return error > 0 && (size_t)error < sizeof(names) / sizeof(names[0]) ? names[error] : NULL;
}
