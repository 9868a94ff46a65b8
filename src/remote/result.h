/*-------------------------------------------------------------------------
 *
 * result.h
 *	  Parameters, and what nodes answer: rows, whole results, errors.
 *
 * remote_poll hands out rows one by one, as values in the memory of their
 * connection, which stay valid until the next call for that connection.
 * remote_query and its kin return a RemoteResult, with text values, in
 * CurrentMemoryContext.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_RESULT_H
#define CITUS_REMOTE_RESULT_H

#include "postgres.h"

/* Parameters of a statement.  Any of the arrays but values may be NULL. */
typedef struct RemoteParams
{
	int			count;
	Oid		   *types;			/* 0: the node is to infer it */
	char	  **values;			/* NULL: null */
	int		   *lengths;		/* of binary values */
	int		   *formats;		/* 0: text, 1: binary */
} RemoteParams;

/* A value in text or in binary form, with a null byte behind it. */
typedef struct RemoteValue
{
	char	   *data;			/* NULL: null */
	int			len;
} RemoteValue;

typedef struct RemoteRow
{
	int			ncolumns;
	RemoteValue *values;
} RemoteRow;

/* What remote_poll has found. */
typedef enum RemotePoll
{
	REMOTE_NOT_YET,				/* nothing has arrived */
	REMOTE_ROW,					/* the statement's next row */
	REMOTE_DONE,				/* the statement is answered completely */
} RemotePoll;

/* A command's whole answer. */
typedef struct RemoteResult
{
	char	   *tag;			/* of the command */
	int			ncolumns;		/* -1 if it returns no rows */
	int			nrows;
	int			room;			/* for rows in values */
	char	  **values;			/* of all rows, one after the other; NULL:
								 * null */
} RemoteResult;

static inline char *
remote_value(const RemoteResult *result, int row, int column)
{
	return result->values[row * result->ncolumns + column];
}

/* A value that is a number. */
static inline int64
remote_int64(const RemoteResult *result, int row, int column)
{
	return strtoi64(remote_value(result, row, column), NULL, 10);
}

/* First value of the only row; NULL if there isn't one row, or it is null. */
static inline char *
remote_only_value(const RemoteResult *result)
{
	return result->nrows == 1 ? result->values[0] : NULL;
}

/* Whether that is true. */
static inline bool
remote_is_true(const RemoteResult *result)
{
	char	   *value = remote_only_value(result);

	return value != NULL && value[0] == 't';
}

/*
 * An error that a node has reported, or how its connection was lost; malloc'd.
 */
typedef struct pg_result RemoteError;

extern int	remote_error_sqlstate(const RemoteError *error);	/* 0: it is no server's */
extern void remote_error_free(RemoteError *error);	/* NULL is let pass */

#endif							/* CITUS_REMOTE_RESULT_H */
