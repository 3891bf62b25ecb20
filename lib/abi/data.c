// SPDX-License-Identifier: MIT
/* Exported symbols that are no functions. */
#include "lib/abi/private.h"

#pragma GCC visibility push(default)
/* Provider libraries test its address only; its content is one byte, and nobody's. */
extern char verbs_allow_disassociate_destroy;
char verbs_allow_disassociate_destroy;
extern char older_verbs_allow_disassociate_destroy;
char older_verbs_allow_disassociate_destroy;
#pragma GCC visibility pop

VB_PRIVATE_VERSIONS(verbs_allow_disassociate_destroy);
