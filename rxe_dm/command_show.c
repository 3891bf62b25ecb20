// SPDX-License-Identifier: MIT
#include "rxe_dm/command.h"
#include <stdio.h>
int command_show(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("soon\n");
	return 1;
}
