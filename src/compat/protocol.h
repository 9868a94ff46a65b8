/*-------------------------------------------------------------------------
 *
 * protocol.h
 *	  The types of the protocol's messages (libpq/protocol.h, since version
 *	  17).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PROTOCOL_H
#define CITUS_COMPAT_PROTOCOL_H

#include "postgres.h"

#if PG_VERSION_NUM >= 170000
#include "libpq/protocol.h"
#else

/* by clients */
#define PqMsg_Bind 'B'
#define PqMsg_Close 'C'
#define PqMsg_Describe 'D'
#define PqMsg_Execute 'E'
#define PqMsg_FunctionCall 'F'
#define PqMsg_Flush 'H'
#define PqMsg_Parse 'P'
#define PqMsg_Query 'Q'
#define PqMsg_Sync 'S'
#define PqMsg_Terminate 'X'
#define PqMsg_CopyFail 'f'
#define PqMsg_PasswordMessage 'p'

/* by servers */
#define PqMsg_ParseComplete '1'
#define PqMsg_BindComplete '2'
#define PqMsg_CloseComplete '3'
#define PqMsg_NotificationResponse 'A'
#define PqMsg_CommandComplete 'C'
#define PqMsg_DataRow 'D'
#define PqMsg_ErrorResponse 'E'
#define PqMsg_CopyInResponse 'G'
#define PqMsg_EmptyQueryResponse 'I'
#define PqMsg_BackendKeyData 'K'
#define PqMsg_NoticeResponse 'N'
#define PqMsg_AuthenticationRequest 'R'
#define PqMsg_ParameterStatus 'S'
#define PqMsg_RowDescription 'T'
#define PqMsg_ReadyForQuery 'Z'
#define PqMsg_NoData 'n'
#define PqMsg_PortalSuspended 's'
#define PqMsg_NegotiateProtocolVersion 'v'

/* by both */
#define PqMsg_CopyDone 'c'
#define PqMsg_CopyData 'd'
#endif

#endif							/* CITUS_COMPAT_PROTOCOL_H */
