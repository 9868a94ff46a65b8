/*-------------------------------------------------------------------------
 *
 * publication.h
 *	  The definition of a publication.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_OBJECTS_PUBLICATION_H
#define CITUS_OBJECTS_PUBLICATION_H

#include "postgres.h"

#include "table/definition.h"

/*
 * Appends the commands that make a publication, in the place of one of that
 * name.
 */
extern void definition_publication(Definition *def, Oid publication);

/* The publication that a row of pg_publication_rel is part of. */
extern Oid	publication_of_member(Oid member);

#endif							/* CITUS_OBJECTS_PUBLICATION_H */
