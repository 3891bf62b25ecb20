/* SPDX-License-Identifier: MIT */
/* Numbers of librdmacm's public interface (rdma/rdma_cma.h), under names of ours: the device server
 * is also built where that header is not installed. tests/unit/rdma_id_bind.c compares them. */
#ifndef RXE_CONTROL_RCM_H
#define RXE_CONTROL_RCM_H

enum rcm_event { /* enum rdma_cm_event_type */
		 RCM_EVENT_ADDR_RESOLVED,
		 RCM_EVENT_ADDR_ERROR,
		 RCM_EVENT_ROUTE_RESOLVED,
		 RCM_EVENT_ROUTE_ERROR,
		 RCM_EVENT_CONNECT_REQUEST,
		 RCM_EVENT_CONNECT_RESPONSE,
		 RCM_EVENT_CONNECT_ERROR,
		 RCM_EVENT_UNREACHABLE,
		 RCM_EVENT_REJECTED,
		 RCM_EVENT_ESTABLISHED,
		 RCM_EVENT_DISCONNECTED,
		 RCM_EVENT_DEVICE_REMOVAL,
		 RCM_EVENT_MULTICAST_JOIN,
		 RCM_EVENT_MULTICAST_ERROR,
		 RCM_EVENT_ADDR_CHANGE,
		 RCM_EVENT_TIMEWAIT_EXIT,
};

enum rcm_port_space { /* enum rdma_port_space */
		      RCM_PS_IPOIB = 0x0002,
		      RCM_PS_TCP = 0x0106,
		      RCM_PS_UDP = 0x0111,
		      RCM_PS_IB = 0x013f,
};

#define RCM_OPTION_ID 0 /* a level */

enum rcm_option {
	RCM_OPTION_ID_TOS,
	RCM_OPTION_ID_REUSEADDR,
	RCM_OPTION_ID_AFONLY,
	RCM_OPTION_ID_ACK_TIMEOUT,
};

#define RCM_UDP_QKEY 0x01234567u

#endif
