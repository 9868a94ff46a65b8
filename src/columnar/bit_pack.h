/*-------------------------------------------------------------------------
 *
 * bit_pack.h
 *	  Numbers in as many bits as the greatest of them needs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_BIT_PACK_H
#define CITUS_COLUMNAR_BIT_PACK_H

#include "postgres.h"

/* Numbers of more bits are not packed. */
#define BIT_PACK_MAX_BITS 56

/* Numbers are read as words: so many bytes behind them are read, too. */
#define BIT_PACK_READ_BEYOND sizeof(uint64)

static inline uint64
bit_pack_bytes(uint32 count, int bits)
{
	return ((uint64) count * bits + 7) / 8;
}

/*
 * What numbers of 1, 2, 4 or 8 bytes are multiples of, and how many bits the
 * greatest factor needs.
 */
extern uint64 bit_pack_step(const char *numbers, int width, uint32 count, int *bits);

/* Packs the factors. */
extern void bit_pack(const char *numbers, int width, uint32 count, uint64 step, int bits, char *out);

/* The packed number at a position. */
extern uint64 bit_packed_number(const char *in, int bits, uint32 i);

/* Unpacks numbers, multiplied by step, beyond a base. */
extern void bit_unpack(const char *in, int bits, uint32 count, uint64 base, uint64 step, uint64 *out);

/* Unpacks numbers of up to 8 bits. */
extern void bit_unpack_bytes(const char *in, int bits, uint32 count, uint8 *out);

#endif							/* CITUS_COLUMNAR_BIT_PACK_H */
