-- A messaging application of many organizations: the multi-tenant data model of figure 1 of the paper on Citus.
--
-- All that belongs to an organization has its id, and is distributed by it: so a tenant's rows are in one shard group,
-- where foreign keys, joins and transactions stay on one node.  What all tenants share is a reference table.

CREATE SCHEMA messaging;
SET search_path = messaging;

CREATE TABLE plan (id int PRIMARY KEY, name text NOT NULL UNIQUE, max_channels int NOT NULL);
CREATE TABLE organization (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL,
	plan int NOT NULL REFERENCES plan,
	custom jsonb NOT NULL DEFAULT '{}'
);
CREATE TABLE users (
	organization bigint REFERENCES organization ON DELETE CASCADE,
	id bigint GENERATED ALWAYS AS IDENTITY,
	name text NOT NULL,
	PRIMARY KEY (organization, id)
);
CREATE TABLE channels (
	organization bigint REFERENCES organization ON DELETE CASCADE,
	id bigint GENERATED ALWAYS AS IDENTITY,
	name text NOT NULL,
	PRIMARY KEY (organization, id),
	UNIQUE (organization, name)
);
CREATE TABLE in_channel (
	organization bigint,
	channel bigint,
	member bigint,
	PRIMARY KEY (organization, channel, member),
	FOREIGN KEY (organization, channel) REFERENCES channels ON DELETE CASCADE,
	FOREIGN KEY (organization, member) REFERENCES users ON DELETE CASCADE
);
CREATE TABLE messages (
	organization bigint,
	id bigint GENERATED ALWAYS AS IDENTITY,
	sent_by bigint NOT NULL,
	to_channel bigint NOT NULL,
	sent timestamptz NOT NULL DEFAULT now(),
	body text NOT NULL,
	PRIMARY KEY (organization, id),
	FOREIGN KEY (organization, sent_by) REFERENCES users,
	FOREIGN KEY (organization, to_channel) REFERENCES channels ON DELETE CASCADE
);
CREATE INDEX ON messages (organization, to_channel, sent);

-- referenced tables first
SELECT create_reference_table('plan');
SELECT create_distributed_table('organization', 'id');
SELECT create_distributed_table('users', 'organization', colocate_with => 'organization');
SELECT create_distributed_table('channels', 'organization', colocate_with => 'organization');
SELECT create_distributed_table('in_channel', 'organization', colocate_with => 'organization');
SELECT create_distributed_table('messages', 'organization', colocate_with => 'organization');

INSERT INTO plan VALUES (1, 'free', 2), (2, 'paid', 100);
INSERT INTO organization (name, plan) SELECT 'organization ' || g, 1 + g % 2 FROM generate_series(1, 20) g;
INSERT INTO users (organization, name)
	SELECT o.id, 'user ' || g FROM organization o, generate_series(1, 5) g WHERE g <= 1 + o.id % 5;
INSERT INTO channels (organization, name) SELECT id, unnest(ARRAY['general', 'random']) FROM organization;
INSERT INTO in_channel SELECT organization, c.id, u.id FROM channels c JOIN users u USING (organization);
INSERT INTO messages (organization, sent_by, to_channel, sent, body)
	SELECT organization, member, channel, '2024-01-01'::timestamptz + make_interval(hours => (member + channel)::int), 'hello'
	FROM in_channel;

-- a tenant's query, however complex, goes to one node as it is
SELECT c.name, u.name, count(*), rank() OVER (PARTITION BY c.name ORDER BY u.name) AS place
FROM messages m
	JOIN users u ON u.organization = m.organization AND u.id = m.sent_by
	JOIN channels c ON c.organization = m.organization AND c.id = m.to_channel
	JOIN organization o ON o.id = m.organization
	JOIN plan p ON p.id = o.plan
WHERE m.organization = 7 AND p.name = 'paid'
GROUP BY c.name, u.name ORDER BY c.name, u.name;

-- so does its transaction
BEGIN;
UPDATE organization SET custom = custom || '{"theme": "dark"}' WHERE id = 7;
DELETE FROM channels WHERE organization = 7 AND name = 'random';
SELECT count(*) FROM messages WHERE organization = 7;
COMMIT;

-- over all tenants, nodes work in parallel
SELECT p.name, count(DISTINCT o.id) AS organizations, count(m.id) AS messages
FROM plan p JOIN organization o ON o.plan = p.id LEFT JOIN messages m ON m.organization = o.id
GROUP BY p.name ORDER BY p.name;

-- schema changes are transactions as well
BEGIN;
ALTER TABLE messages ADD COLUMN edited timestamptz, ADD CONSTRAINT edited_later CHECK (edited > sent);
CREATE INDEX ON organization USING gin (custom);
COMMIT;
SELECT id, name FROM organization WHERE custom @> '{"theme": "dark"}';
