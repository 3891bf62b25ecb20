/* SPDX-License-Identifier: MIT */
/* Numbers of librdmacm's public interface (rdma/rdma_cma.h), under names of ours: the device server
 * is also built where that header is not installed. tests/unit/cma_id_bind.c compares them. */
#ifndef RXE_CONTROL_CM_NUMBERS_H
#define RXE_CONTROL_CM_NUMBERS_H

enum ctl_cm_event_type { /* enum rdma_cm_event_type */
			 CTL_CM_EVENT_ADDR_RESOLVED,
			 CTL_CM_EVENT_ADDR_ERROR,
			 CTL_CM_EVENT_ROUTE_RESOLVED,
			 CTL_CM_EVENT_ROUTE_ERROR,
			 CTL_CM_EVENT_CONNECT_REQUEST,
			 CTL_CM_EVENT_CONNECT_RESPONSE,
			 CTL_CM_EVENT_CONNECT_ERROR,
			 CTL_CM_EVENT_UNREACHABLE,
			 CTL_CM_EVENT_REJECTED,
			 CTL_CM_EVENT_ESTABLISHED,
			 CTL_CM_EVENT_DISCONNECTED,
			 CTL_CM_EVENT_DEVICE_REMOVAL,
			 CTL_CM_EVENT_MULTICAST_JOIN,
			 CTL_CM_EVENT_MULTICAST_ERROR,
			 CTL_CM_EVENT_ADDR_CHANGE,
			 CTL_CM_EVENT_TIMEWAIT_EXIT,
};

enum ctl_cm_port_space { /* enum rdma_port_space */
			 CTL_CM_PS_IPOIB = 0x0002,
			 CTL_CM_PS_TCP = 0x0106,
			 CTL_CM_PS_UDP = 0x0111,
			 CTL_CM_PS_IB = 0x013f,
};

#define CTL_CM_OPTION_ID 0 /* a level */

enum ctl_cm_option {
	CTL_CM_OPTION_ID_TOS,
	CTL_CM_OPTION_ID_REUSEADDR,
	CTL_CM_OPTION_ID_AFONLY,
	CTL_CM_OPTION_ID_ACK_TIMEOUT,
};

#define CTL_CM_UDP_QKEY 0x01234567u

#endif
