\set amount random(1, :rows)
SELECT id, kind FROM fanout WHERE amount = :amount;
