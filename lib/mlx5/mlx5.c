// SPDX-License-Identifier: MIT
/* libmlx5.so.1: what programs ask of a ConnectX directly. No device of ours is one, and this says so; everything else is a
 * generated refusal (symbols.tsv). */
#include <stdbool.h>

#pragma GCC visibility push(default)
#include <infiniband/mlx5dv.h>
#pragma GCC visibility pop

bool mlx5dv_is_supported(struct ibv_device *device)
{
	(void)device;
	return false;
}
