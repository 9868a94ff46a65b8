\set aid random(1, :rows)
SELECT abalance FROM bench_accounts WHERE aid = :aid;
