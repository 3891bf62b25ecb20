/* SPDX-License-Identifier: MIT */
/* What the kinds of memory region have in common. */
#ifndef RXE_VERBS_MR_H
#define RXE_VERBS_MR_H

struct ibv_mr;
struct ibv_pd;
struct dm_mr;
struct ctl_reg_mr;

/* 0, EINVAL, or EOPNOTSUPP. */
int dm_access_check(unsigned int access);
/* Register, and give the program an object that is otherwise like this one. NULL and errno. */
struct ibv_mr *dm_mr_make(struct ibv_pd *pd, const struct dm_mr *like,
			  const struct ctl_reg_mr *reg);

#endif
