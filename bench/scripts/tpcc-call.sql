\set w random(1, :warehouses)
\set d random(1, 10)
\set c random(1, 3000)
\set kind random(1, 100)
\if :kind <= 45
SELECT new_order(:w, :d, :warehouses);
\elif :kind <= 88
SELECT payment(:w, :d, :warehouses);
\elif :kind <= 92
SELECT order_status(:w, :d, :c);
\elif :kind <= 96
SELECT delivery(:w, 1);
\else
SELECT stock_level(:w, :d, 15);
\endif
