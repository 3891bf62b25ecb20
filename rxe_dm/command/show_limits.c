// SPDX-License-Identifier: MIT
/* rxe_dm show --limits: the profile of an instance, in the format of its file. */
#include "lib/control/profile.h"
#include "rxe_dm/command/view.h"

void show_limits(const struct view *view, FILE *to)
{
	const struct ctl_profile *profile = &view->device[0].info.profile;
	char value[CTL_PROFILE_TEXT];

	fprintf(to, "# profile %s\n", profile->name);
	for (size_t i = 0; i < ctl_key_count; i++)
		fprintf(to, "%s = %s\n", ctl_key_table[i].key,
			ctl_key_value(&ctl_key_table[i], profile, value));
}
