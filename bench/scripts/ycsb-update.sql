\if :zipfian
\set key 1 + permute(random_zipfian(1, :rows, 1.001) - 1, :rows)
\else
\set key random(1, :rows)
\endif
UPDATE bench_usertable SET field3 = 'uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu' WHERE ycsb_key = :key;
