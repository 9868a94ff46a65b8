-- What executors on different nodes call on each other.

CREATE FUNCTION citus_internal.task_user(username text, security_context integer, analyst text) RETURNS void
	LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_task_user';
COMMENT ON FUNCTION citus_internal.task_user(text, integer, text) IS
	'for nodes: the user and the security context of the statement that follows, and the role that it is analysed as';

CREATE FUNCTION citus_internal.task_user_end() RETURNS void
	LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_task_user_end';
COMMENT ON FUNCTION citus_internal.task_user_end() IS 'for nodes: the end of what task_user has begun';

CREATE FUNCTION citus_internal.task_plan(colocationid integer, minhash integer, maxhash integer, explain integer)
	RETURNS text LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_task_plan';
COMMENT ON FUNCTION citus_internal.task_plan(integer, integer, integer, integer) IS
	'the measured plan of a task that this session ran in the present transaction';

CREATE FUNCTION citus_internal.lock_reference_table(relation regclass, exclusive boolean, wait boolean)
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_lock_reference_table';
COMMENT ON FUNCTION citus_internal.lock_reference_table(regclass, boolean, boolean) IS
	'orders writers of a reference table, until the end of the transaction; false if that requires a wait';

CREATE FUNCTION citus_internal.keep_reference_table(relation regclass)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_keep_reference_table';
COMMENT ON FUNCTION citus_internal.keep_reference_table(regclass) IS
	'blocks DDL on a reference table that this transaction will write, until its end';

-- An INSERT .. ON CONFLICT whose initiator fires triggers (src/executor/upsert_rows.c).
CREATE FUNCTION citus_internal.upsert_row(ordinal bigint)
	RETURNS boolean LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_upsert_row';
COMMENT ON FUNCTION citus_internal.upsert_row(bigint) IS
	'true; notes which row of a batch is inserted next';

CREATE FUNCTION citus_internal.upsert_ordinal()
	RETURNS bigint LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_upsert_ordinal';
COMMENT ON FUNCTION citus_internal.upsert_ordinal() IS
	'position in its batch of the row that has just been inserted';

CREATE FUNCTION citus_internal.upsert_conflict(id tid, existing record)
	RETURNS boolean LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_upsert_conflict';
COMMENT ON FUNCTION citus_internal.upsert_conflict(tid, record) IS
	'false; notes the row that a row of a batch conflicts with';

CREATE FUNCTION citus_internal.upsert_conflicts(type anyelement)
	RETURNS TABLE (ordinal bigint, id tid, existing anyelement)
	LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_upsert_conflicts';
COMMENT ON FUNCTION citus_internal.upsert_conflicts(anyelement) IS
	'the rows that were noted in this session''s last batch, of the type of the argument';

-- One of several batches (src/executor/modify_apply.c).
CREATE FUNCTION citus_internal.upsert_begin()
	RETURNS void LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_upsert_begin';
COMMENT ON FUNCTION citus_internal.upsert_begin() IS
	'an INSERT .. ON CONFLICT DO UPDATE of several batches begins to write here';

CREATE FUNCTION citus_internal.upsert_once(version xid, command cid)
	RETURNS boolean LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_upsert_once';
COMMENT ON FUNCTION citus_internal.upsert_once(xid, cid) IS
	'true; an error for a row that the statement of upsert_begin has written';

-- UPDATE and DELETE of rows of a reference table (src/executor/row_image.c).
CREATE FUNCTION citus_internal.row_image(of_row record)
	RETURNS bytea LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_internal_row_image';
COMMENT ON FUNCTION citus_internal.row_image(record) IS
	'a digest of a row, the same on all nodes and under all settings';

CREATE FUNCTION citus_internal.row_places(type anyelement, images bytea[])
	RETURNS SETOF tid LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_row_places';
COMMENT ON FUNCTION citus_internal.row_places(anyelement, bytea[]) IS
	'where the rows of this node''s copy of a reference table are that have these images';

-- Rows of tables that have columns of domains (src/executor/row_texts.c).
CREATE FUNCTION citus_internal.rows_of_texts(type anyelement, texts text[])
	RETURNS SETOF anyelement LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_rows_of_texts';
COMMENT ON FUNCTION citus_internal.rows_of_texts(anyelement, text[]) IS
	'the rows that a task writes, of the type of the first argument, which are not checked against domains';

CREATE FUNCTION citus_internal.texts_of_row(of_row record)
	RETURNS text[] LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_internal_texts_of_row';
COMMENT ON FUNCTION citus_internal.texts_of_row(record) IS
	'a row as text, in the form that rows_of_texts reads';

-- UPDATE and DELETE of rows of a partitioned table (src/planner/modify_text.c).
CREATE FUNCTION citus_internal.shard_relation(shardid bigint)
	RETURNS oid LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'citus_internal_shard_relation';
COMMENT ON FUNCTION citus_internal.shard_relation(bigint) IS
	'the table that a shard belongs to';

-- tableoid in tasks (src/resolve/ctid.c).
CREATE FUNCTION citus_internal.logical_relation(shard oid)
	RETURNS oid LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_internal_logical_relation';
COMMENT ON FUNCTION citus_internal.logical_relation(oid) IS
	'the table that a relation is a shard of; null if it is none';

-- ctid of logical tables (src/sharding/logical_ctid.c).  Leakproof: an error tells at most how large a shard is.
CREATE FUNCTION citus_internal.logical_ctid(ctid tid, shard oid)
	RETURNS tid LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_internal_logical_ctid';
COMMENT ON FUNCTION citus_internal.logical_ctid(tid, oid) IS
	'the ctid that a row of a shard has as a row of its table';

CREATE FUNCTION citus_internal.shard_ctid(ctid tid, shard oid)
	RETURNS tid LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_internal_shard_ctid';
COMMENT ON FUNCTION citus_internal.shard_ctid(tid, oid) IS
	'where a shard''s row with a logical ctid must be, if the shard has it';

CREATE FUNCTION citus_internal.shard_ctids(ctids tid[], shard oid)
	RETURNS tid[] LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_internal_shard_ctids';
COMMENT ON FUNCTION citus_internal.shard_ctids(tid[], oid) IS
	'the same for each of several rows';

-- WHERE CURRENT OF (src/executor/current_row.c).
CREATE FUNCTION citus_internal.lock_row(relation regclass, shardid bigint, place tid, version xid, exclusive boolean)
	RETURNS tid LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_lock_row';
COMMENT ON FUNCTION citus_internal.lock_row(regclass, bigint, tid, xid, boolean) IS
	'locks the latest version of a row of a shard; its ctid, or null if the row was deleted';

-- Correlated subqueries that nodes compute (src/planner/group_subquery.c).
CREATE FUNCTION citus_internal.group_subquery_support(internal)
	RETURNS internal LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_group_subquery_support';
COMMENT ON FUNCTION citus_internal.group_subquery_support(internal) IS
	'planner support for group_subquery';

CREATE FUNCTION citus_internal.group_subquery(number integer, VARIADIC columns "any")
	RETURNS record LANGUAGE C STABLE AS 'MODULE_PATHNAME', 'citus_internal_group_subquery'
	SUPPORT citus_internal.group_subquery_support;
COMMENT ON FUNCTION citus_internal.group_subquery(integer, "any") IS
	'placeholder for a subquery while a statement is planned';

-- Connections that outlive the session that has opened them (src/remote/kept_session.c).
CREATE FUNCTION citus_internal.session_rest()
	RETURNS void LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_session_rest';
COMMENT ON FUNCTION citus_internal.session_rest() IS
	'a session that another node has opened serves no client until session_serve, or ends';

CREATE FUNCTION citus_internal.session_serve(gpid bigint)
	RETURNS text LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_session_serve';
COMMENT ON FUNCTION citus_internal.session_serve(bigint) IS
	'gives a session that rests another client';

-- Rows that travel between nodes for a statement (src/exchange).
CREATE FUNCTION citus_internal.exchange_create(id text)
	RETURNS void LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_exchange_create';
COMMENT ON FUNCTION citus_internal.exchange_create(text) IS
	'opens an exchange of rows on this node, until the end of the session';

CREATE FUNCTION citus_internal.exchange_drop(id text)
	RETURNS void LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_exchange_drop';
COMMENT ON FUNCTION citus_internal.exchange_drop(text) IS
	'ends an exchange of rows that this session has opened';

CREATE FUNCTION citus_internal.exchange_receive(id text, source text, rows bytea)
	RETURNS void LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_exchange_receive';
COMMENT ON FUNCTION citus_internal.exchange_receive(text, text, bytea) IS
	'adds rows to an exchange on this node';

CREATE FUNCTION citus_internal.exchange_read_support(internal)
	RETURNS internal LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_exchange_read_support';
COMMENT ON FUNCTION citus_internal.exchange_read_support(internal) IS
	'planner support for exchange_read';

CREATE FUNCTION citus_internal.exchange_read(id text, sources text[], nrows bigint)
	RETURNS SETOF record LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_internal_exchange_read'
	SUPPORT citus_internal.exchange_read_support;
COMMENT ON FUNCTION citus_internal.exchange_read(text, text[], bigint) IS
	'the rows that an exchange on this node has of some sources; nrows are expected';

CREATE FUNCTION citus_internal.exchange_send_row(state internal, id text, map integer[], hash integer, VARIADIC columns "any")
	RETURNS internal LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_exchange_send_row';
COMMENT ON FUNCTION citus_internal.exchange_send_row(internal, text, integer[], integer, "any") IS
	'transition function of exchange_send';

CREATE FUNCTION citus_internal.exchange_send_end(state internal)
	RETURNS bytea LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_exchange_send_end';
COMMENT ON FUNCTION citus_internal.exchange_send_end(internal) IS
	'final function of exchange_send';

CREATE AGGREGATE citus_internal.exchange_send(id text, map integer[], hash integer, VARIADIC columns "any") (
	SFUNC = citus_internal.exchange_send_row, STYPE = internal,
	FINALFUNC = citus_internal.exchange_send_end, FINALFUNC_MODIFY = READ_WRITE);
COMMENT ON AGGREGATE citus_internal.exchange_send(text, integer[], integer, "any") IS
	'sends rows to exchanges on the nodes that a map gives for their hash values, or returns them if they are few';
