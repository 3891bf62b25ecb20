/* SPDX-License-Identifier: MIT */
/* The mistakes: a file each, which has the wrong program and, with right, the corrected one. */
#ifndef TESTS_CLIENT_MISTAKES_H
#define TESTS_CLIENT_MISTAKES_H

#include <stdbool.h>

/* In the order of lib/findings/table.h. Those with librdmacm are a program of their own. */
#ifdef MISTAKES_OF_CM
#define MISTAKES(X)                                                                                \
	X(life_id_leak)                                                                            \
	X(life_id_used_after)                                                                      \
	X(cm_events_not_acked)                                                                     \
	X(cm_own_event)                                                                            \
	X(cm_listener_event)                                                                       \
	X(cm_channel_in_use)                                                                       \
	X(cm_private)                                                                              \
	X(cm_no_qp)                                                                                \
	X(cm_depth)                                                                                \
	X(cm_not_disconnected)                                                                     \
	X(cm_has_qp)
#else
#define MISTAKES(X)                                                                                \
	X(mem_send_changed)                                                                        \
	X(mem_receives_overlap)                                                                    \
	X(mem_send_overlaps)                                                                       \
	X(mem_deregistered)                                                                        \
	X(mem_freed)                                                                               \
	X(mem_freed_failed)                                                                        \
	X(mem_unmapped)                                                                            \
	X(mem_returned)                                                                            \
	X(mem_stale)                                                                               \
	X(mem_arrival)                                                                             \
	X(mem_deregistered_for_peer)                                                               \
	X(mem_deregistered_apart)                                                                  \
	X(mem_stale_apart)                                                                         \
	X(mem_freed_apart)                                                                         \
	X(thread_domain)                                                                           \
	X(thread_cq)                                                                               \
	X(race_remote)                                                                             \
	X(race_fence)                                                                              \
	X(race_local)                                                                              \
	X(race_remote_apart)                                                                       \
	X(race_fence_apart)                                                                        \
	X(race_local_apart)                                                                        \
	X(race_reply_apart)                                                                        \
	X(race_flag_apart)                                                                         \
	X(race_flag_dm_apart)                                                                      \
	X(race_receive_apart)                                                                      \
	X(race_window_apart)                                                                       \
	X(race_dm)                                                                                 \
	X(race_dm_apart)                                                                           \
	X(race_later_apart)                                                                        \
	X(queue_cq_overflow)                                                                       \
	X(queue_unsignalled)                                                                       \
	X(queue_ud_short)                                                                          \
	X(event_lost_wake_up)                                                                      \
	X(event_not_acked)                                                                         \
	X(event_channel_in_use)                                                                    \
	X(event_async_not_acked)                                                                   \
	X(life_leak_close)                                                                         \
	X(life_leak_exit)                                                                          \
	X(life_used_after)                                                                         \
	X(life_ah_used_after)                                                                      \
	X(life_ah_used_built)                                                                      \
	X(life_twice)                                                                              \
	X(life_outstanding)                                                                        \
	X(life_forked)                                                                             \
	X(life_leaks_all)                                                                          \
	X(comp_on_error)                                                                           \
	X(comp_imm)                                                                                \
	X(comp_length)                                                                             \
	X(comp_src_qp)                                                                             \
	X(comp_poison)                                                                             \
	X(peer_mtu)                                                                                \
	X(peer_psn)                                                                                \
	X(peer_reads)                                                                              \
	X(peer_timeout)                                                                            \
	X(peer_elsewhere)                                                                          \
	X(peer_access)                                                                             \
	X(peer_type)                                                                               \
	X(peer_gid)                                                                                \
	X(queue_no_receive)                                                                        \
	X(queue_rnr_forever)                                                                       \
	X(queue_unpolled)                                                                          \
	X(queue_unread)                                                                            \
	X(queue_inline)                                                                            \
	X(port_atomic)                                                                             \
	X(port_dm_copy)                                                                            \
	X(port_sges)                                                                               \
	X(port_dm_align)                                                                           \
	X(port_early)                                                                              \
	X(refusal_init)                                                                            \
	X(event_async_unread)
#endif

#define X(name) void name(bool right);
MISTAKES(X)
#undef X

#endif
