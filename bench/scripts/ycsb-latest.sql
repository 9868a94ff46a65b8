-- The newest rows of this client; before them come the last that were loaded.
\if :zipfian
\set distance random_zipfian(1, :rows, 1.001) - 1
\else
\set distance random(0, :rows - 1)
\endif
\if :distance < :inserted
\set key 1000000000 + :process * 100000000 + :client_id * 1000000 + :inserted - :distance
\else
\set key :rows - (:distance - :inserted)
\endif
SELECT * FROM bench_usertable WHERE ycsb_key = :key;
