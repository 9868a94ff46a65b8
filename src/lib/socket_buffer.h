/*-------------------------------------------------------------------------
 *
 * socket_buffer.h
 *	  How much a Unix-domain socket takes before its sender has to wait.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_SOCKET_BUFFER_H
#define CITUS_LIB_SOCKET_BUFFER_H

#include <sys/socket.h>

/*
 * What the kernel lets a TCP connection's buffer grow to by itself (the
 * maximum of net.ipv4.tcp_wmem).  net.core.wmem_max is a limit, too.
 */
#define SOCKET_BUFFER_SIZE (4 * 1024 * 1024)

/*
 * Lets a sender of bulk data write as far ahead as with TCP.  Nothing is
 * allocated for it; other sockets, and errors, are ignored.
 */
static inline void
socket_buffer_enlarge(int fd)
{
	struct sockaddr_storage address;
	socklen_t	len = sizeof(address);
	int			size = SOCKET_BUFFER_SIZE;

	if (getsockname(fd, (struct sockaddr *) &address, &len) == 0 && address.ss_family == AF_UNIX)
		(void) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

#endif							/* CITUS_LIB_SOCKET_BUFFER_H */
