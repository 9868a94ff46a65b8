-- Partitions by time: which there are, which are missing, making and dropping them.  They work on local tables, too.

CREATE FUNCTION pg_catalog.time_partition_range(table_name regclass, OUT lower_bound text, OUT upper_bound text)
	LANGUAGE sql STABLE STRICT SET search_path = pg_catalog
AS $$
	SELECT bound[1], bound[2]
	FROM (SELECT regexp_match(pg_get_expr(relpartbound, oid), '^FOR VALUES FROM \(''(.*)''\) TO \(''(.*)''\)$') AS bound
		FROM pg_class WHERE oid = table_name) b
$$;
COMMENT ON FUNCTION pg_catalog.time_partition_range(regclass) IS
	'bounds of a partition by one column''s range; null if it has none';

CREATE VIEW citus.time_partitions AS
	SELECT i.inhparent::regclass AS parent_table, a.attname AS partition_column, c.oid::regclass AS partition,
		r.lower_bound AS from_value, r.upper_bound AS to_value, am.amname AS access_method
	FROM pg_catalog.pg_class c
	JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
	JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = i.inhparent
	JOIN pg_catalog.pg_attribute a ON a.attrelid = i.inhparent AND a.attnum = p.partattrs[0]
	LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
	CROSS JOIN LATERAL pg_catalog.time_partition_range(c.oid) r
	WHERE c.relispartition AND c.relnamespace <> 'citus_data'::regnamespace AND p.partstrat = 'r' AND p.partnatts = 1
		AND a.atttypid IN ('date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype)
		AND r.lower_bound IS NOT NULL
	ORDER BY i.inhparent::regclass::text, r.lower_bound;
ALTER VIEW citus.time_partitions SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.time_partitions TO public;
COMMENT ON VIEW pg_catalog.time_partitions IS 'partitions by ranges of a date or timestamp';

CREATE FUNCTION citus_internal.time_partition_column(table_name regclass)
	RETURNS regtype LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog
AS $$
DECLARE
	type regtype;
BEGIN
	SELECT a.atttypid INTO type
	FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
	WHERE p.partrelid = table_name AND p.partnatts = 1 AND p.partstrat = 'r';
	IF type IS NULL OR type NOT IN ('date', 'timestamp', 'timestamptz') THEN
		RAISE wrong_object_type USING
			MESSAGE = format('table "%s" is not partitioned by a range of time', table_name),
			HINT = 'It has to be partitioned by the range of one column, of type date, timestamp or timestamptz.';
	END IF;
	RETURN type;
END
$$;
COMMENT ON FUNCTION citus_internal.time_partition_column(regclass) IS
	'type of the column by whose ranges a table is partitioned; errors unless it is a time';

-- What the names of partitions of such an interval end with, and the unit in which the first of them begins.
CREATE FUNCTION citus_internal.time_partition_style(partition_interval interval, OUT suffix text, OUT unit text)
	LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog
AS $$
	SELECT s, u
	FROM (VALUES (interval '1 year', NULL, 'YYYY', 'year'), ('3 months', '3 months', 'YYYY"q"Q', 'quarter'),
		('1 month', NULL, 'YYYY_MM', 'month'), ('1 week', '1 week', 'IYYY"w"IW', 'week'),
		('1 day', NULL, 'YYYY_MM_DD', 'day'), ('1 hour', NULL, 'YYYY_MM_DD_HH24MI', 'day'),
		('0', NULL, 'YYYY_MM_DD_HH24MI', 'hour')) styles (least_interval, exactly, s, u)
	WHERE partition_interval = exactly::interval OR (exactly IS NULL AND partition_interval >= least_interval)
	ORDER BY least_interval DESC LIMIT 1
$$;
COMMENT ON FUNCTION citus_internal.time_partition_style(interval) IS
	'format of the names of partitions, and the unit in which the first one begins';

CREATE FUNCTION pg_catalog.get_missing_time_partition_ranges(table_name regclass, partition_interval interval,
	to_value timestamptz, from_value timestamptz DEFAULT now())
	RETURNS TABLE (partition_name text, range_from_value text, range_to_value text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog
AS $$
DECLARE
	column_type regtype := citus_internal.time_partition_column(table_name);
	style record := citus_internal.time_partition_style(partition_interval);
	-- all computed without a time zone, as ranges of dates and timestamps are
	start timestamp;
	stop timestamp;
	wrong record;
	base name := (SELECT relname FROM pg_class WHERE oid = table_name);
BEGIN
	IF partition_interval <= interval '0' THEN
		RAISE invalid_parameter_value USING MESSAGE = 'partition interval must be positive';
	ELSIF column_type = 'date'::regtype AND
		(partition_interval < interval '1 day' OR extract(epoch FROM partition_interval)::numeric % 86400 <> 0 AND
		 extract(month FROM partition_interval) = 0 AND extract(year FROM partition_interval) = 0) THEN
		RAISE invalid_parameter_value USING
			MESSAGE = 'partition interval of a table that is partitioned by a date must be of days';
	ELSIF from_value >= to_value THEN
		RAISE invalid_parameter_value USING MESSAGE = 'start must be before the end';
	END IF;

	-- from the first partition that there is, on or back in steps; if there is none, from the start of a unit
	SELECT min(p.from_value::timestamptz)::timestamp INTO start FROM time_partitions p WHERE p.parent_table = table_name;
	IF start IS NULL THEN
		start := date_trunc(style.unit, from_value::timestamp);
	END IF;
	WHILE start > from_value::timestamp LOOP
		start := start - partition_interval;
	END LOOP;
	WHILE start + partition_interval <= from_value::timestamp LOOP
		start := start + partition_interval;
	END LOOP;

	WHILE start < to_value::timestamp LOOP
		stop := start + partition_interval;
		SELECT p.partition, p.from_value, p.to_value INTO wrong FROM time_partitions p
		WHERE p.parent_table = table_name AND p.from_value::timestamptz::timestamp < stop AND
			p.to_value::timestamptz::timestamp > start;
		IF NOT FOUND THEN
			partition_name := base || '_p' || to_char(start, style.suffix);
			IF octet_length(partition_name) > 63 THEN
				partition_name := left(base, 63 - length('_p' || to_char(start, style.suffix))) || '_p' ||
					to_char(start, style.suffix);
			END IF;
			range_from_value := CASE column_type WHEN 'date'::regtype THEN start::date::text
				WHEN 'timestamp'::regtype THEN start::text ELSE start::timestamptz::text END;
			range_to_value := CASE column_type WHEN 'date'::regtype THEN stop::date::text
				WHEN 'timestamp'::regtype THEN stop::text ELSE stop::timestamptz::text END;
			RETURN NEXT;
		ELSIF wrong.from_value::timestamptz::timestamp <> start OR wrong.to_value::timestamptz::timestamp <> stop THEN
			RAISE object_not_in_prerequisite_state USING
				MESSAGE = format('partition %s does not fit the interval %s', wrong.partition, partition_interval),
				DETAIL = format('It has the range from %s to %s, and one from %s to %s is looked for.', wrong.from_value,
					wrong.to_value, start, stop);
		END IF;
		start := stop;
	END LOOP;
END
$$;
COMMENT ON FUNCTION pg_catalog.get_missing_time_partition_ranges(regclass, interval, timestamptz, timestamptz) IS
	'names and ranges of the partitions that a table lacks for a time';

CREATE FUNCTION pg_catalog.create_time_partitions(table_name regclass, partition_interval interval, end_at timestamptz,
	start_from timestamptz DEFAULT now())
	RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
	missing record;
	made boolean := false;
BEGIN
	FOR missing IN
		SELECT * FROM get_missing_time_partition_ranges(table_name, partition_interval, end_at, start_from)
	LOOP
		EXECUTE format('CREATE TABLE %I.%I PARTITION OF %s FOR VALUES FROM (%L) TO (%L)',
			(SELECT nspname FROM pg_namespace n JOIN pg_class c ON n.oid = relnamespace WHERE c.oid = table_name),
			missing.partition_name, table_name, missing.range_from_value, missing.range_to_value);
		made := true;
	END LOOP;
	RETURN made;
END
$$;
COMMENT ON FUNCTION pg_catalog.create_time_partitions(regclass, interval, timestamptz, timestamptz) IS
	'makes the partitions that a table lacks for a time; whether there were any';

CREATE PROCEDURE pg_catalog.drop_old_time_partitions(table_name regclass, older_than timestamptz)
	LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
	old record;
BEGIN
	PERFORM citus_internal.time_partition_column(table_name);
	FOR old IN
		SELECT partition, from_value, to_value FROM time_partitions
		WHERE parent_table = table_name AND to_value::timestamptz <= older_than ORDER BY to_value::timestamptz
	LOOP
		RAISE NOTICE 'dropping % with start time % and end time %', old.partition, old.from_value, old.to_value;
		EXECUTE format('DROP TABLE %s', old.partition);
	END LOOP;
END
$$;
COMMENT ON PROCEDURE pg_catalog.drop_old_time_partitions(regclass, timestamptz) IS
	'drops the partitions of a table that end before a time';
