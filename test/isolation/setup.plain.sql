-- On a plain server, tables stay as they are.

CREATE FUNCTION pg_catalog.create_distributed_table(regclass, text, shard_count int DEFAULT 1, colocate_with text DEFAULT NULL)
	RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION pg_catalog.create_reference_table(regclass) RETURNS void LANGUAGE sql AS '';
