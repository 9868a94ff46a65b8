\set key random(1, :rows)
\set delta random(-5000, 5000)
BEGIN;
UPDATE bench_a1 SET v = v + :delta WHERE key = :key;
UPDATE bench_a2 SET v = v - :delta WHERE key = :key;
END;
