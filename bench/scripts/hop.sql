\set aid random(1, :rows)
SELECT bench_hop(:port, :aid);
