SELECT count(*), sum(abalance), max(aid) FROM bench_accounts;
