\set amount random(1, :rows)
SELECT id, kind FROM fanout_many WHERE amount = :amount;
