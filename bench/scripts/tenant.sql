\set aid random(1, :rows)
\set delta random(-5000, 5000)
BEGIN;
UPDATE bench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM bench_accounts WHERE aid = :aid;
INSERT INTO bench_history (tid, bid, aid, delta, mtime) VALUES (10, 1, :aid, :delta, CURRENT_TIMESTAMP);
SELECT count(*) FROM bench_history WHERE aid = :aid;
UPDATE bench_accounts SET bid = bid + 1 WHERE aid = :aid;
END;
