/*-------------------------------------------------------------------------
 *
 * vector_dates.c
 *	  Functions of dates and timestamps on arrays.
 *
 * A timestamp is cut into its day and its time of day; rows that follow each
 * other are often of one day, whose calendar date is computed once.  Functions
 * of timestamps with time zone depend on the session's zone, and have no form
 * here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "compat/varlena.h"
#include "vector/vector_dates.h"

/* A day and what is asked about it, computed when a row has another day. */
typedef struct CalendarDay
{
	int64		day;			/* since 2000-01-01 */
	int64		usecs;			/* in it */
	int			year;
	int			month;
	int			mday;
} CalendarDay;

typedef int64 (*CalendarField) (const CalendarDay *at);

struct VectorDateFunction
{
	Oid			function;
	const char *field;			/* as the parser writes it; NULL: none */
	CalendarField result;
	bool		of_date;		/* the argument, otherwise a timestamp */
	bool		is_float;		/* the result */
};

/* There is no year 0. */
static int64
field_year(const CalendarDay *at)
{
	return at->year > 0 ? at->year : at->year - 1;
}

static int64
field_quarter(const CalendarDay *at)
{
	return (at->month - 1) / 3 + 1;
}

static int64
field_month(const CalendarDay *at)
{
	return at->month;
}

static int64
field_week(const CalendarDay *at)
{
	return date2isoweek(at->year, at->month, at->mday);
}

static int64
field_day(const CalendarDay *at)
{
	return at->mday;
}

static int64
field_doy(const CalendarDay *at)
{
	return at->day + POSTGRES_EPOCH_JDATE - date2j(at->year, 1, 1) + 1;
}

static int64
field_dow(const CalendarDay *at)
{
	return j2day((int) (at->day + POSTGRES_EPOCH_JDATE));
}

static int64
field_isodow(const CalendarDay *at)
{
	int64		dow = field_dow(at);

	return dow == 0 ? 7 : dow;
}

static int64
field_hour(const CalendarDay *at)
{
	return at->usecs / USECS_PER_HOUR;
}

static int64
field_minute(const CalendarDay *at)
{
	return at->usecs / USECS_PER_MINUTE % MINS_PER_HOUR;
}

static int64
midnight_of(int64 day)
{
	return day * USECS_PER_DAY;
}

static int64
trunc_year(const CalendarDay *at)
{
	return midnight_of(date2j(at->year, 1, 1) - POSTGRES_EPOCH_JDATE);
}

static int64
trunc_quarter(const CalendarDay *at)
{
	return midnight_of(date2j(at->year, (at->month - 1) / 3 * 3 + 1, 1) - POSTGRES_EPOCH_JDATE);
}

static int64
trunc_month(const CalendarDay *at)
{
	return midnight_of(at->day - (at->mday - 1));
}

static int64
trunc_week(const CalendarDay *at)
{
	return midnight_of(at->day - (field_isodow(at) - 1));
}

static int64
trunc_day(const CalendarDay *at)
{
	return midnight_of(at->day);
}

static int64
trunc_hour(const CalendarDay *at)
{
	return midnight_of(at->day) + at->usecs - at->usecs % USECS_PER_HOUR;
}

static int64
trunc_minute(const CalendarDay *at)
{
	return midnight_of(at->day) + at->usecs - at->usecs % USECS_PER_MINUTE;
}

static int64
trunc_second(const CalendarDay *at)
{
	return midnight_of(at->day) + at->usecs - at->usecs % USECS_PER_SEC;
}

static int64
date_of(const CalendarDay *at)
{
	return at->day;
}

#define DATE_FIELD(name) \
	{F_EXTRACT_TEXT_DATE, #name, field_##name, true, false}, \
	{F_EXTRACT_TEXT_TIMESTAMP, #name, field_##name, false, false}, \
	{F_DATE_PART_TEXT_TIMESTAMP, #name, field_##name, false, true}

#define TIME_FIELD(name) \
	{F_EXTRACT_TEXT_TIMESTAMP, #name, field_##name, false, false}, \
	{F_DATE_PART_TEXT_TIMESTAMP, #name, field_##name, false, true}

#define TRUNCATION(name) \
	{F_DATE_TRUNC_TEXT_TIMESTAMP, #name, trunc_##name, false, false}

static const VectorDateFunction date_functions[] = {
	DATE_FIELD(year), DATE_FIELD(quarter), DATE_FIELD(month), DATE_FIELD(week), DATE_FIELD(day), DATE_FIELD(doy),
	DATE_FIELD(dow), DATE_FIELD(isodow), TIME_FIELD(hour), TIME_FIELD(minute),
	TRUNCATION(year), TRUNCATION(quarter), TRUNCATION(month), TRUNCATION(week), TRUNCATION(day), TRUNCATION(hour),
	TRUNCATION(minute), TRUNCATION(second),
	{F_TIMESTAMP_DATE, NULL, trunc_day, true, false},
	{F_DATE_TIMESTAMP, NULL, date_of, false, false},
};

const VectorDateFunction *
vector_date_function(Oid function, List *args, Node **arg)
{
	Const	   *constant = list_length(args) == 2 ? linitial(args) : NULL;
	char	   *field = NULL;

	if (constant != NULL)
	{
		if (!IsA(constant, Const) || constant->consttype != TEXTOID || constant->constisnull)
			return NULL;
		field = TextDatumGetCString(constant->constvalue);
	}
	for (int i = 0; i < lengthof(date_functions); i++)
	{
		const VectorDateFunction *known = &date_functions[i];

		if (known->function != function || (known->field == NULL) != (field == NULL) ||
			(field != NULL && strcmp(known->field, field) != 0))
			continue;
		*arg = llast(args);
		return known;
	}
	return NULL;
}

/*
 * Whether all values are finite, and so far from the ends of the types that no
 * result is beyond them.
 */
static bool
range_is_safe(const VectorDateFunction *function, int64 least, int64 greatest)
{
	int64		first = DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE + 2 * DAYS_PER_MONTH * MONTHS_PER_YEAR;
	int64		last = TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE - 1;

	if (function->of_date)
		return least >= first && greatest <= last;
	return least >= first * USECS_PER_DAY && greatest < last * USECS_PER_DAY;
}

bool
vector_date_compute(const VectorDateFunction *function, const int64 *values, uint32 count, int64 least, int64 greatest,
					Datum *results)
{
	CalendarDay at = {.day = PG_INT64_MAX};

	if (!range_is_safe(function, least, greatest))
		return false;
	for (uint32 i = 0; i < count; i++)
	{
		int64		day = values[i];
		int64		result;

		if (!function->of_date)
		{
			day = values[i] / USECS_PER_DAY;
			if (values[i] < day * USECS_PER_DAY)
				day--;
			at.usecs = values[i] - day * USECS_PER_DAY;
		}
		if (day != at.day)
			j2date((int) (day + POSTGRES_EPOCH_JDATE), &at.year, &at.month, &at.mday);
		at.day = day;
		result = function->result(&at);
		results[i] = function->is_float ? Float8GetDatum((float8) result) : (Datum) result;
	}
	return true;
}
