/*-------------------------------------------------------------------------
 *
 * bit_pack.c
 *	  Numbers in as many bits as the greatest of them needs.
 *
 * The first number is in the lowest bits of the first bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

#include "columnar/bit_pack.h"

static inline uint64
number_at(const char *numbers, int width, uint32 i)
{
	switch (width)
	{
		case 1:
			return ((const uint8 *) numbers)[i];
		case 2:
			return ((const uint16 *) numbers)[i];
		case 4:
			return ((const uint32 *) numbers)[i];
		default:
			return ((const uint64 *) numbers)[i];
	}
}

uint64
bit_pack_step(const char *numbers, int width, uint32 count, int *bits)
{
	uint64		step = 0;
	uint64		greatest = 0;

	for (uint32 i = 0; i < count; i++)
	{
		uint64		number = number_at(numbers, width, i);
		uint64		other = number;

		greatest = Max(greatest, number);
		while (step != 1 && other != 0)
		{
			uint64		rest = step % other;

			step = other;
			other = rest;
		}
	}
	step = Max(step, 1);
	*bits = greatest == 0 ? 0 : pg_leftmost_one_pos64(greatest / step) + 1;
	return step;
}

void
bit_pack(const char *numbers, int width, uint32 count, uint64 step, int bits, char *out)
{
	uint64		pending = 0;
	int			npending = 0;

	for (uint32 i = 0; i < count; i++)
	{
		uint64		number = number_at(numbers, width, i);

		pending |= (step > 1 ? number / step : number) << npending;
		npending += bits;
		for (; npending >= 8; npending -= 8, pending >>= 8)
			*out++ = (char) pending;
	}
	if (npending > 0)
		*out = (char) pending;
}

/* The number that begins at a bit. */
static inline uint64
packed_number(const char *in, uint64 bit, uint64 mask)
{
	uint64		word;

	memcpy(&word, in + bit / 8, sizeof(word));
#ifdef WORDS_BIGENDIAN
	word = pg_bswap64(word);
#endif
	return (word >> (bit % 8)) & mask;
}

uint64
bit_packed_number(const char *in, int bits, uint32 i)
{
	return packed_number(in, (uint64) i * bits, (UINT64CONST(1) << bits) - 1);
}

void
bit_unpack(const char *in, int bits, uint32 count, uint64 base, uint64 step, uint64 *out)
{
	uint64		mask = (UINT64CONST(1) << bits) - 1;
	uint64		bit = 0;

	if (step == 1)
	{
		for (uint32 i = 0; i < count; i++, bit += bits)
			out[i] = base + packed_number(in, bit, mask);
	}
	else
	{
		for (uint32 i = 0; i < count; i++, bit += bits)
			out[i] = base + step * packed_number(in, bit, mask);
	}
}

void
bit_unpack_bytes(const char *in, int bits, uint32 count, uint8 *out)
{
	uint64		mask = (UINT64CONST(1) << bits) - 1;
	uint64		bit = 0;

	for (uint32 i = 0; i < count; i++, bit += bits)
		out[i] = (uint8) packed_number(in, bit, mask);
}
