-- Secondary indexes, the same on the cluster and on plain PostgreSQL; created after the load.

CREATE INDEX supplier_nation ON supplier (s_nationkey);
CREATE INDEX customer_nation ON customer (c_nationkey);
CREATE INDEX partsupp_supplier ON partsupp (ps_suppkey);
CREATE INDEX orders_customer ON orders (o_custkey);
CREATE INDEX orders_date ON orders (o_orderdate);
CREATE INDEX lineitem_part_supplier ON lineitem (l_partkey, l_suppkey);
CREATE INDEX lineitem_shipdate ON lineitem (l_shipdate);
