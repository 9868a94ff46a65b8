-- The tag in front of a task's text: what is written is what was read
CREATE SCHEMA task_tag;
SET search_path = task_tag;
CREATE FUNCTION again(text) RETURNS text LANGUAGE C STRICT AS 'citus', 'task_tag_again';
CREATE ROLE "task tag's *" NOLOGIN;

-- Every word alone, and with what follows it
SELECT start || word || '*/ ' AS tag, again(start || word || '*/ ') = start || word || '*/ ' AS same
FROM unnest(ARRAY['/*citus:shard 3.-64:63', '/*citus:node']) start,
	unnest(ARRAY['', ' policies 0', ' policies 2', ' lock', ' blind', ' unchecked', ' moves', ' unpublished', ' as task%20tag%27s%20%2a',
		' explain 5', ' policies 1 lock blind as pg_monitor explain 1']) word;

-- Generated tags of all kinds and words
CREATE FUNCTION maybe(word text, argument text DEFAULT '') RETURNS text LANGUAGE sql VOLATILE AS
$$SELECT CASE WHEN random() < 0.4 THEN word || argument ELSE '' END$$;
CREATE FUNCTION hash_range(low bigint) RETURNS text LANGUAGE sql VOLATILE AS
$$SELECT low || ':' || low + (random() * 1000)::int$$;
CREATE FUNCTION shards() RETURNS text LANGUAGE sql VOLATILE AS
$$SELECT CASE (random() * 2)::int
	WHEN 0 THEN 'shard 7.' || hash_range((-2147483648 + random() * 4294960000)::bigint)
	WHEN 1 THEN 'call 2147483647.' || hash_range(-2147483648)
	ELSE (SELECT 'shards 0.' || string_agg(hash_range(-2147483648 + 2000 * n::bigint) || maybe('x', (1 + 2147483646 * random())::int::text), ',')
		FROM generate_series(1, (1 + random() * 20)::int) n) END ||
	maybe(' at') || (ARRAY['', ' former', ' late'])[1 + (random() * 2)::int] || maybe(' part ', hash_range(5)) || maybe(' partial') ||
	maybe(' tenant ', (ARRAY['-1', '1', '65535'])[1 + (random() * 2)::int])$$;
CREATE FUNCTION tag() RETURNS text LANGUAGE sql VOLATILE AS
$$SELECT '/*citus:' || (ARRAY[shards(), shards(), shards(), 'node', 'ddl', 'frames'])[1 + (random() * 5)::int] ||
	maybe(' policies ', (random() * 9)::int::text) || maybe(' lock') || maybe(' blind') || maybe(' unchecked') || maybe(' moves') ||
	maybe(' unpublished') || maybe(' as task%20tag%27s%20%2a') || maybe(' explain ', (1 + random() * 4000)::int::text) ||
	maybe(' trace ', left(md5(random()::text) || md5(random()::text), 48)) || '*/ '$$;
SELECT count(*) AS tags, count(DISTINCT tag) > 500 AS differ, count(*) FILTER (WHERE again(tag) IS DISTINCT FROM tag) AS changed
FROM (SELECT tag() FROM generate_series(1, 1000) OFFSET 0) t;

-- Damaged tags: an error, not a tag that means something else
CREATE FUNCTION refusal(tag text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN coalesce(again(tag), 'no tag');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END$$;
SELECT tag, refusal(tag) FROM unnest(ARRAY['SELECT 1', '/*citus:*/', '/*citus:shard', '/*citus:shard 3.5:4*/', '/*citus:shard 3.5:4', '/*citus:shard -3.4:5*/',
	'/*citus:shards 3.0:9,5:20*/', '/*citus:shards 3.0:9,*/', '/*citus:shard 3.0:9 former late*/', '/*citus:shard 3.0:9 partial at*/',
	'/*citus:shard 3.0:9 policies*/', '/*citus:shard 3.0:9 tenant -2*/', '/*citus:shard 3.0:9 part 9*/', '/*citus:node at*/', '/*citus:node as */',
	'/*citus:node as %00*/', '/*citus:node as nobody%20such*/', '/*citus:node explain -1*/', '/*citus:shard 99999999999.1:2*/']) tag;
-- What could be cut off anywhere
SELECT count(*) FILTER (WHERE refusal(left(tag, cut)) !~ '^(08P01|42704)') AS accepted
FROM (VALUES ('/*citus:shards 3.-64:63x77,128:511 at late part 0:5 partial tenant -1 policies 2 lock as pg_monitor explain 5 trace 0af7651916cd43dd8448eb211c80319cb7ad6b7169203331*/')) t(tag),
	generate_series(8, length(tag) - 1) cut;

DROP ROLE "task tag's *";
SET client_min_messages = warning;
DROP SCHEMA task_tag CASCADE;
