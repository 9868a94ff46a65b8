\set aid random(1, :rows)
\set delta random(-5000, 5000)
INSERT INTO bench_history (tid, bid, aid, delta, mtime) VALUES (10, 1, :aid, :delta, CURRENT_TIMESTAMP);
