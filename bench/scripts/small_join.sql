SELECT count(*), sum(o.amount + i.amount) FROM bench_orders o JOIN bench_items i USING (id);
