\if :zipfian
\set key 1 + permute(random_zipfian(1, :rows, 1.001) - 1, :rows)
\else
\set key random(1, :rows)
\endif
SELECT * FROM bench_usertable WHERE ycsb_key = :key;
UPDATE bench_usertable SET field3 = 'mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm' WHERE ycsb_key = :key;
