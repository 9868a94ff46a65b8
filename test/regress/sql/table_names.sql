-- Names that need quotes, that are long, that are keywords.
CREATE SCHEMA "Table ""Names"; SET search_path = "Table ""Names";
\set VERBOSITY terse
SET citus.shard_count = 4;
CREATE TABLE "Quote""d Täble with a very long name that goes to sixty-three b" ("Cöl ""x" int PRIMARY KEY, "select" text,
  CONSTRAINT "another very long constraint name that goes to sixty-three byte" CHECK ("select" <> 'x'));
CREATE TABLE "select" (LIKE "Quote""d Täble with a very long name that goes to sixty-three b" INCLUDING ALL);
SELECT create_distributed_table('"Quote""d Täble with a very long name that goes to sixty-three b"', 'Cöl "x');
SELECT create_distributed_table('"select"', 'Cöl "x');
INSERT INTO "Quote""d Täble with a very long name that goes to sixty-three b" VALUES (1, 'a'), (2, 'b');
INSERT INTO "select" SELECT * FROM "Quote""d Täble with a very long name that goes to sixty-three b";
ALTER TABLE "Quote""d Täble with a very long name that goes to sixty-three b" RENAME "select" TO "Sel""ect";
CREATE INDEX ON "Quote""d Täble with a very long name that goes to sixty-three b" ("Sel""ect");
ALTER TABLE "Quote""d Täble with a very long name that goes to sixty-three b"
  DROP CONSTRAINT "another very long constraint name that goes to sixty-three byte";
UPDATE "Quote""d Täble with a very long name that goes to sixty-three b" SET "Sel""ect" = 'x' WHERE "Cöl ""x" = 1;
ALTER TABLE "Quote""d Täble with a very long name that goes to sixty-three b" RENAME TO "U&d!";
SELECT * FROM "U&d!" ORDER BY 1;
SELECT * FROM "select" JOIN "U&d!" USING ("Cöl ""x") ORDER BY 1;
SELECT max(length(result::name::text)) < 64 AS fits, count(*) FROM run_command_on_placements('"U&d!"', $$ SELECT '%s' $$);
TRUNCATE "U&d!", "select";
SELECT count(*) FROM "U&d!";
SELECT undistribute_table('"U&d!"');
DROP TABLE "select", "U&d!";
DROP SCHEMA "Table ""Names";
