// SPDX-License-Identifier: MIT
/* Exported symbols that are not functions. */
#include "lib/abi/private.h"

char verbs_allow_disassociate_destroy;
