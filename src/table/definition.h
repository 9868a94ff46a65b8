/*-------------------------------------------------------------------------
 *
 * definition.h
 *	  Declarations shared by the files that write a table's definition.
 *
 * A Definition is the list of commands written so far.  All names in them
 * are qualified: the caller of these functions has set search_path to
 * pg_catalog (definition_begin does).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_DEFINITION_H
#define CITUS_TABLE_DEFINITION_H

#include "postgres.h"

#include "utils/acl.h"
#include "utils/rel.h"

#include "compat/foreach.h"

typedef struct Definition
{
	Relation	rel;			/* the table, open with AccessShareLock */
	const char *name;			/* its qualified, quoted name */
	bool		for_shard;		/* only what a shard needs */
	List	   *commands;		/* char *, in order */
	List	   *types_done;		/* Oids of types written, or found needless */
	List	   *sequences_done; /* Oids of sequences written */
	List	   *schemas_done;	/* Oids of schemas written */
	List	   *functions_done; /* Oids of functions written, or found
								 * needless */
	List	   *operators_done; /* likewise */
	const char *last_identity;	/* of the last object written by
								 * definition_add_if_missing */
	int			guc_level;		/* of the search_path that we set */
	List	   *names;			/* of the table and its columns, for
								 * definition_expression; NIL: not yet made */
} Definition;

/* A column's NOT NULL, if it is a constraint with a name. */
typedef struct NotNull
{
	Oid			constraint;		/* InvalidOid: the column has none */
	char	   *name;
	bool		valid;			/* is known to hold for all rows */
	bool		no_inherit;
} NotNull;

/*
 * Begins the statements that define a table, in CurrentMemoryContext: opens
 * it, and sets a search_path with which names are written in full.
 * definition_end undoes both, and returns the statements (char *).
 */
extern Definition *definition_begin(Oid relid, bool for_shard);
extern List *definition_end(Definition *def);

/*
 * An expression of the table's columns (as nodeToString wrote it) as text.  To
 * collect the columns' names takes long for a wide table, so they are kept.
 */
extern char *definition_expression(Definition *def, const char *expression);

/* Appends a command. */
extern void definition_add(Definition *def, const char *format,...) pg_attribute_printf(2, 3);

/*
 * if_missing.c: appends a call that runs commands where an object (kind
 * 'schema', 'type', 'sequence', ...) is missing.  An existing object of that
 * name must have the same identity: a text of its owner and definition,
 * written by the function for its kind.
 */
extern void definition_add_if_missing(Definition *def, const char *kind, const char *name, const char *identity,
									  List *commands);

/*
 * definition_privileges.c: commands that give an object (kind 'TABLE',
 * 'SEQUENCE', ..) the owner and privileges it has here; the privileges alone;
 * the owner alone.
 */
extern List *privilege_commands(List *commands, const char *kind, const char *name, Datum acl, bool acl_isnull,
								Oid owner);
extern List *acl_commands(List *commands, const char *kind, const char *name, Datum acl, bool acl_isnull, Oid owner);
extern char *owner_command(const char *kind, const char *name, Oid owner);
extern void definition_column_privileges(Definition *def);

/*
 * definition_functions.c: one function; one operator, with its function; those
 * that the table calls.
 */
extern void definition_add_function(Definition *def, Oid funcid);
extern void definition_operator(Definition *def, Oid opid);
extern void definition_called_functions(Definition *def);

/*
 * definition_needs.c.  Whether a table's definition has to create an object,
 * since it isn't part of an extension.  Writes an object: the commands that
 * create it, and then its owner and privileges.
 */
extern bool definition_is_needed(Oid classid, Oid objid);
extern void definition_add_object(Definition *def, const char *kind, const char *name, List *commands, Datum acl,
								  bool acl_isnull, Oid owner);
extern void definition_schema(Definition *def, Oid schema);
extern void definition_type(Definition *def, Oid typid);
extern void definition_collation(Definition *def, Oid collation);
extern void definition_sequence(Definition *def, Oid seqid);
extern void definition_sequences(Definition *def);
extern void definition_sequence_owners(Definition *def);
extern char *sequence_options_text(Oid seqid);
extern char *relation_qualified_name(Oid relid);

/*
 * table_definition.c: appends WITH (...), the options of a table or view and
 * those of its TOAST table; storage, statistics and options of columns.
 */
extern void definition_append_options(StringInfo buf, Relation rel);
extern void definition_column_settings(Definition *def);

/*
 * definition_parts.c.  A table's NOT NULL constraints by column, the first
 * column's first.  Before version 18 of the server there are none with names.
 */
extern NotNull *not_null_constraints(Relation rel);
extern void definition_checks(Definition *def);
extern void definition_index_constraints(Definition *def);
extern void definition_indexes(Definition *def);
extern void definition_statistics(Definition *def);
extern void definition_row_security(Definition *def);
extern void definition_comments(Definition *def);
extern void definition_replica_identity(Definition *def);

#endif							/* CITUS_TABLE_DEFINITION_H */
