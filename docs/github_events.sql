-- Events of GitHub, in real time: raw events are stored as they come, and rolled up for dashboards.
--
-- The raw table is partitioned by day, so that old events are dropped at once, and distributed by the repository: all
-- that is rolled up for a repository is computed where its events are.

CREATE SCHEMA github;
SET search_path = github;

CREATE TABLE events (
	event_id bigint,
	event_type text,
	event_public boolean,
	repo_id bigint,
	payload jsonb,
	repo jsonb,
	user_id bigint,
	org jsonb,
	created_at timestamp
) PARTITION BY RANGE (created_at);
CREATE TABLE commits_per_day (
	repo_id bigint,
	day date,
	commits bigint NOT NULL,
	authors bigint NOT NULL,
	PRIMARY KEY (repo_id, day)
);
SELECT create_distributed_table('events', 'repo_id');
SELECT create_distributed_table('commits_per_day', 'repo_id', colocate_with => 'events');
SELECT create_time_partitions('events', '1 day', '2024-01-08', '2024-01-01');
CREATE INDEX ON events (repo_id, created_at);
CREATE INDEX ON events USING gin (payload jsonb_path_ops);

COPY events (event_id, event_type, event_public, repo_id, payload, user_id, created_at) FROM STDIN WITH (FORMAT csv);
1,PushEvent,t,100,"{""size"": 2, ""commits"": [{""message"": ""Add postgres driver""}, {""message"": ""Fix it""}]}",1,2024-01-01 10:00
2,PushEvent,t,100,"{""size"": 1, ""commits"": [{""message"": ""Bump version""}]}",2,2024-01-01 11:00
3,WatchEvent,t,101,"{""action"": ""started""}",1,2024-01-01 12:00
4,PushEvent,t,102,"{""size"": 1, ""commits"": [{""message"": ""Speed up postgres""}]}",3,2024-01-02 10:00
5,PullRequestEvent,t,102,"{""action"": ""opened""}",3,2024-01-02 10:30
\.
-- many more
INSERT INTO events (event_id, event_type, event_public, repo_id, payload, user_id, created_at)
	SELECT g, CASE g % 3 WHEN 0 THEN 'PushEvent' WHEN 1 THEN 'WatchEvent' ELSE 'IssuesEvent' END, true, g % 50,
		CASE g % 3 WHEN 0 THEN jsonb_build_object('size', 1 + g % 4) ELSE '{"action": "started"}' END,
		g % 70, '2024-01-01'::timestamp + make_interval(mins => g % (7 * 24 * 60))
	FROM generate_series(1000, 6000) g;

-- for the dashboard: computed on all nodes at the same time
SELECT date_trunc('day', created_at) AS day, sum((payload ->> 'size')::int) AS commits
FROM events WHERE event_type = 'PushEvent' GROUP BY day ORDER BY day;
SELECT count(*) FROM events
WHERE jsonb_path_query_array(payload, '$.commits[*].message')::text ILIKE '%postgres%';

-- the rollup: INSERT .. SELECT that moves no row between nodes
INSERT INTO commits_per_day
	SELECT repo_id, created_at::date, sum((payload ->> 'size')::int), count(DISTINCT user_id)
	FROM events WHERE event_type = 'PushEvent' AND created_at < '2024-01-04' GROUP BY 1, 2
	ON CONFLICT (repo_id, day) DO UPDATE SET commits = excluded.commits, authors = excluded.authors;
SELECT day, sum(commits) AS commits, count(*) AS repositories FROM commits_per_day GROUP BY day ORDER BY day;
SELECT * FROM commits_per_day WHERE repo_id = 100;

-- events older than a few days go with their partitions
CALL drop_old_time_partitions('events', '2024-01-04');
SELECT min(created_at), count(*) FROM events;
