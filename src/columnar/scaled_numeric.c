/*-------------------------------------------------------------------------
 *
 * scaled_numeric.c
 *	  Values of type numeric as integers, divided by a power of ten.
 *
 * The server keeps the layout of a stored numeric to itself, but it is that
 * of all tables on disk, so it stays.  After the varlena header there is a
 * word of flags, sign, scale and weight in the short form, or two words in the
 * long one, and then digits to the base of 10000.  The weight is the power of
 * 10000 of the first digit.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "columnar/scaled_numeric.h"
#include "compat/varlena.h"

#define DIGIT_BASE 10000
#define DIGIT_DECIMALS 4

#define KIND_MASK 0xC000
#define KIND_POSITIVE 0x0000
#define KIND_NEGATIVE 0x4000
#define KIND_SHORT 0x8000
#define SHORT_NEGATIVE 0x2000
#define SHORT_SCALE_SHIFT 7
#define SHORT_SCALE_MASK 0x3F
#define SHORT_WEIGHT_NEGATIVE 0x0040
#define SHORT_WEIGHT_MASK 0x003F
#define LONG_SCALE_MASK 0x3FFF

static const int64 powers_of_ten[] = {1, 10, 100, 1000};

bool
numeric_to_scaled(Datum value, int *scale, int64 *integer)
{
	const char *data = VARDATA_ANY(DatumGetPointer(value));
	int			ndigits = (int) VARSIZE_ANY_EXHDR(DatumGetPointer(value)) / (int) sizeof(int16);
	uint16		header;
	int			weight;
	int			last;
	bool		negative;
	int64		result = 0;

	memcpy(&header, data, sizeof(header));
	if ((header & KIND_MASK) == KIND_SHORT)
	{
		*scale = (header >> SHORT_SCALE_SHIFT) & SHORT_SCALE_MASK;
		weight = (header & SHORT_WEIGHT_MASK) | ((header & SHORT_WEIGHT_NEGATIVE) != 0 ? ~SHORT_WEIGHT_MASK : 0);
		negative = (header & SHORT_NEGATIVE) != 0;
		ndigits -= 1;
		data += sizeof(int16);
	}
	else if ((header & KIND_MASK) == KIND_POSITIVE || (header & KIND_MASK) == KIND_NEGATIVE)
	{
		int16		long_weight;

		*scale = header & LONG_SCALE_MASK;
		memcpy(&long_weight, data + sizeof(int16), sizeof(int16));
		weight = long_weight;
		negative = (header & KIND_MASK) == KIND_NEGATIVE;
		ndigits -= 2;
		data += 2 * sizeof(int16);
	}
	else
		return false;
	if (*scale > SCALED_MAX_SCALE)
		return false;

	/* The last digit that the scale reaches into, as a negative weight. */
	last = (*scale + DIGIT_DECIMALS - 1) / DIGIT_DECIMALS;
	if (weight > 4 || ndigits - 1 - weight > last)
		return false;
	for (int i = 0; i <= weight + last; i++)
	{
		int16		digit = 0;

		if (i < ndigits)
			memcpy(&digit, data + i * sizeof(int16), sizeof(int16));
		if (__builtin_mul_overflow(result, DIGIT_BASE, &result) || __builtin_add_overflow(result, digit, &result))
			return false;
	}
	if (result % powers_of_ten[last * DIGIT_DECIMALS - *scale] != 0)
		return false;
	result /= powers_of_ten[last * DIGIT_DECIMALS - *scale];
	if (result >= SCALED_LIMIT)
		return false;
	*integer = negative ? -result : result;
	return true;
}

int
scaled_digits(int128 integer, int scale, int16 *digits, int *weight)
{
	int			last = (scale + DIGIT_DECIMALS - 1) / DIGIT_DECIMALS;
	int			pad = last * DIGIT_DECIMALS - scale;
	bool		negative = integer < 0;
	uint128		rest = negative ? -(uint128) integer : (uint128) integer;
	int16		reversed[SCALED_WIDE_DIGITS];
	int			count = 0;
	int			skipped = 0;

	/* The lowest digit may be of fewer decimals, so that nothing overflows. */
	if (rest != 0 && pad > 0)
	{
		int			part = (int) powers_of_ten[DIGIT_DECIMALS - pad];

		reversed[count++] = (int16) ((int) (rest % part) * powers_of_ten[pad]);
		rest /= part;
	}
	while (rest > PG_UINT64_MAX)
	{
		reversed[count++] = (int16) (rest % DIGIT_BASE);
		rest /= DIGIT_BASE;
	}
	for (uint64 low = (uint64) rest; low != 0; low /= DIGIT_BASE)
		reversed[count++] = (int16) (low % DIGIT_BASE);
	*weight = count - 1 - last;
	while (skipped < count && reversed[skipped] == 0)
		skipped++;
	for (int i = skipped; i < count; i++)
		digits[count - 1 - i] = reversed[i];
	count -= skipped;
	if (count == 0)
		*weight = 0;
	return count;
}

int
scaled_to_numeric(int64 integer, int scale, char *out)
{
	int16		digits[SCALED_WIDE_DIGITS];
	int			weight;
	int			ndigits = scaled_digits(integer, scale, digits, &weight);
	int			len = VARHDRSZ_SHORT + (1 + ndigits) * (int) sizeof(int16);
	uint16		header = (uint16) (KIND_SHORT | (integer < 0 ? SHORT_NEGATIVE : 0) | (scale << SHORT_SCALE_SHIFT) |
								   (weight < 0 ? SHORT_WEIGHT_NEGATIVE : 0) | (weight & SHORT_WEIGHT_MASK));

	SET_VARSIZE_SHORT(out, len);
	memcpy(out + VARHDRSZ_SHORT, &header, sizeof(header));
	memcpy(out + VARHDRSZ_SHORT + sizeof(header), digits, ndigits * sizeof(int16));
	return len;
}
