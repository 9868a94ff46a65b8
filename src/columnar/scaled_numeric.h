/*-------------------------------------------------------------------------
 *
 * scaled_numeric.h
 *	  Values of type numeric as integers, divided by a power of ten.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_SCALED_NUMERIC_H
#define CITUS_COLUMNAR_SCALED_NUMERIC_H

#include "postgres.h"

/*
 * Values have a smaller magnitude, and at most so many digits after the point.
 */
#define SCALED_LIMIT INT64CONST(1000000000000000)
#define SCALED_MAX_SCALE 15

/* A numeric with one of these needs no more bytes. */
#define SCALED_NUMERIC_BYTES 16

/*
 * The integer and the number of digits after the point, which is the one that
 * the value is displayed with.  False if it has none: it is NaN or infinite,
 * or exceeds the limits.
 */
extern bool numeric_to_scaled(Datum value, int *scale, int64 *integer);

/*
 * Writes the numeric of an integer below the limit, with a short header, to
 * out, which has room for SCALED_NUMERIC_BYTES.  Returns its length.
 */
extern int	scaled_to_numeric(int64 integer, int scale, char *out);

/*
 * The base-10000 digits of an integer with so many digits after the point,
 * most significant first, without zeros at either end: at most
 * SCALED_WIDE_DIGITS.  Returns how many there are; weight is the first one's
 * power of 10000.
 */
#define SCALED_WIDE_DIGITS 12
extern int	scaled_digits(int128 integer, int scale, int16 *digits, int *weight);

#endif							/* CITUS_COLUMNAR_SCALED_NUMERIC_H */
