-- Clause 2.4: an order of 5 to 15 lines; one of a hundred orders fails at the end and is rolled back.
CREATE FUNCTION new_order(w int, d int, warehouses int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	c int := 1 + (random() * 2999)::int;
	lines int := 5 + (random() * 10)::int;
	items int[];
	supplies int[];
	quantities int[];
	o int;
	w_tax numeric;
	d_tax numeric;
	discount numeric;
	total numeric;
BEGIN
	-- in the order of their keys, so that two orders lock stock in the same order
	SELECT array_agg(i ORDER BY s, i), array_agg(s ORDER BY s, i), array_agg(q ORDER BY s, i) INTO items, supplies, quantities
	FROM (SELECT DISTINCT ON (i) i, s, q
		FROM (SELECT 1 + (random() * 99999)::int AS i, 1 + (random() * 9)::int AS q,
				CASE WHEN random() < 0.01 THEN 1 + (random() * (warehouses - 1))::int ELSE w END AS s
			FROM generate_series(1, lines)) made) lines;
	SELECT warehouse.w_tax, c_discount INTO w_tax, discount
	FROM warehouse, customer WHERE w_id = w AND c_w_id = w AND c_d_id = d AND c_id = c;
	UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
	RETURNING d_next_o_id - 1, district.d_tax INTO o, d_tax;
	INSERT INTO orders VALUES (o, d, w, c, now(), NULL, cardinality(items));
	INSERT INTO new_orders VALUES (o, d, w);
	UPDATE stock SET s_quantity = CASE WHEN s_quantity >= q + 10 THEN s_quantity - q ELSE s_quantity - q + 91 END,
		s_ytd = s_ytd + q, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (s <> w)::int
	FROM unnest(items, supplies, quantities) line (i, s, q)
	WHERE s_w_id = w AND s = w AND s_i_id = i;
	FOR n IN 1 .. cardinality(items) LOOP
		CONTINUE WHEN supplies[n] = w;
		UPDATE stock SET s_quantity = CASE WHEN s_quantity >= quantities[n] + 10 THEN s_quantity - quantities[n]
				ELSE s_quantity - quantities[n] + 91 END,
			s_ytd = s_ytd + quantities[n], s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + 1
		WHERE s_w_id = supplies[n] AND s_i_id = items[n];
	END LOOP;
	INSERT INTO order_line SELECT o, d, w, n, i, s, NULL, q, q * i_price, 'dist'
	FROM unnest(items, supplies, quantities) WITH ORDINALITY line (i, s, q, n) JOIN item ON i_id = i;
	SELECT sum(q * i_price) * (1 - discount) * (1 + w_tax + d_tax) INTO total
	FROM unnest(items, quantities) line (i, q) JOIN item ON i_id = i;
	RETURN total;
END $$;

-- Clause 2.5: by the customer's number, or (60 of 100) name.
CREATE FUNCTION payment(w int, d int, warehouses int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	cw int := CASE WHEN random() < 0.15 THEN 1 + (random() * (warehouses - 1))::int ELSE w END;
	cd int := 1 + (random() * 9)::int;
	c int := 1 + (random() * 2999)::int;
	name text := 'name ' || (random() * 999)::int;
	amount numeric := 1 + (random() * 4999)::int;
	balance numeric;
BEGIN
	UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w;
	UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d;
	IF random() < 0.6 THEN
		SELECT c_id INTO c FROM customer WHERE c_w_id = cw AND c_d_id = cd AND c_last = name ORDER BY c_first OFFSET 1 LIMIT 1;
	END IF;
	UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1
	WHERE c_w_id = cw AND c_d_id = cd AND c_id = c RETURNING c_balance INTO balance;
	INSERT INTO history VALUES (c, cd, cw, d, w, now(), amount, 'name    name');
	RETURN balance;
END $$;

-- Clause 2.6.
CREATE FUNCTION order_status(w int, d int, c int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	o int;
BEGIN
	PERFORM c_balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
	SELECT o_id INTO o FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = c ORDER BY o_id DESC LIMIT 1;
	RETURN (SELECT count(*) FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o);
END $$;

-- Clause 2.7: the oldest new order of each district.
CREATE FUNCTION delivery(w int, carrier int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	o int;
	c int;
	total numeric;
	delivered int := 0;
BEGIN
	FOR d IN 1 .. 10 LOOP
		SELECT no_o_id INTO o FROM new_orders WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1 FOR UPDATE SKIP LOCKED;
		CONTINUE WHEN o IS NULL;
		DELETE FROM new_orders WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
		UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o RETURNING o_c_id INTO c;
		UPDATE order_line SET ol_delivery_d = now() WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
		SELECT sum(ol_amount) INTO total FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
		UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
		WHERE c_w_id = w AND c_d_id = d AND c_id = c;
		delivered := delivered + 1;
	END LOOP;
	RETURN delivered;
END $$;

-- Clause 2.8.
CREATE FUNCTION stock_level(w int, d int, threshold int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	o int;
BEGIN
	SELECT d_next_o_id INTO o FROM district WHERE d_w_id = w AND d_id = d;
	RETURN (SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
		WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id BETWEEN o - 20 AND o - 1 AND s_quantity < threshold);
END $$;
