-- Clients whose encoding isn't the database's: what they send, what they get, and what is stored.
--
-- distribute: words(k), tags(k) with none, one single, ref reference

CREATE TABLE words (k int PRIMARY KEY, word text, short varchar(8), padded char(4), doc jsonb, many text[]);
CREATE TABLE tags (k int, name name, note text, j json);
CREATE TABLE one (k int, word text);
CREATE TABLE ref (word text PRIMARY KEY, n int);

-- setup ends
SET client_encoding = 'LATIN1';
INSERT INTO words VALUES (1, chr(233) || 't' || chr(233), chr(252), chr(223), jsonb_build_object('k', chr(228)), ARRAY[chr(246), 'o']);
INSERT INTO words SELECT n, repeat(chr(224 + n), n), chr(200 + n), chr(210 + n), to_jsonb(chr(220 + n)), ARRAY[chr(230 + n)]
    FROM generate_series(2, 20) n;
INSERT INTO words VALUES (30, U&'na\00EFve', U&'\00E9', U&'\00E8', '{"a": "x"}', '{}'), (31, U&'\00FF', NULL, NULL, NULL, NULL);
-- params: 32, 'caf'
-- params: 33, 'th'
INSERT INTO words VALUES ($1, $2 || chr(233), $2, NULL, NULL, ARRAY[$2, chr(233)]);
INSERT INTO tags SELECT k, word::name, word, to_json(word) FROM words;
INSERT INTO one SELECT k, word FROM words;
INSERT INTO ref SELECT word, k FROM words;
SELECT * FROM words ORDER BY k;
SELECT * FROM tags ORDER BY k;
SELECT * FROM words WHERE k = 1;
SELECT k, length(word), octet_length(word), word::bytea, md5(word) FROM words ORDER BY k;
SELECT w.k, t.note FROM words w JOIN tags t USING (k) WHERE w.word = t.note ORDER BY 1;
SELECT w.k, r.n FROM words w JOIN ref r ON r.word = w.word ORDER BY 1;
SELECT string_agg(word, ',' ORDER BY k), max(word COLLATE "C"), array_agg(short ORDER BY k) FROM words;
SELECT upper(word), count(*) FROM words GROUP BY 1 ORDER BY 2, upper(word) COLLATE "C";
SELECT k FROM words WHERE word = chr(233) || 't' || chr(233);
SELECT k FROM words WHERE word LIKE '%' || chr(233) || '%' ORDER BY k;
SELECT row(k, word), many FROM words WHERE k < 5 ORDER BY k;
UPDATE words SET word = word || chr(234) WHERE k = 1 RETURNING k, word;
UPDATE words SET word = word || chr(235) WHERE k > 28 RETURNING k, word;
UPDATE words w SET short = left(t.note, 3) FROM tags t WHERE t.k = w.k AND t.note = w.word;
DELETE FROM words WHERE word LIKE chr(239) || '%' RETURNING *;
SELECT * FROM one WHERE word > chr(230) ORDER BY word COLLATE "C", k;
SELECT (SELECT max(t.note COLLATE "C") FROM tags t WHERE t.k > w.k) FROM words w ORDER BY w.k;
COPY words TO STDOUT;
COPY (SELECT word FROM words ORDER BY k) TO STDOUT;
-- save: latin
COPY (SELECT k + 100 AS k, word FROM words ORDER BY k) TO STDOUT;
-- feed: latin
COPY words (k, word) FROM STDIN;
SELECT k, word, word::bytea FROM words WHERE k > 100 ORDER BY k;

-- what the client's encoding lacks is an error, and nothing is done
SELECT chr(8364);
SELECT word || chr(8364) FROM words WHERE k = 2;
SELECT word || chr(8364) FROM words;
INSERT INTO words (k, word) VALUES (200, chr(8364)) RETURNING word;
INSERT INTO words (k, word) VALUES (201, chr(8364)), (201 + 0 * 5 + 1, chr(8364)) RETURNING word;
UPDATE words SET word = chr(8364) WHERE k = 3 RETURNING word;
UPDATE one SET word = chr(8364) WHERE k = 3 RETURNING word;
UPDATE ref SET word = chr(8364) WHERE n = 3 RETURNING word;
DELETE FROM words WHERE k = 4 RETURNING chr(8364);
SELECT count(*), max(k) FROM words;
SELECT * FROM words WHERE k IN (3, 4) ORDER BY k;
INSERT INTO words (k, word) VALUES (300, chr(8364));
SELECT k, ascii(word) FROM words WHERE k = 300;

SET client_encoding = 'WIN1252';
SELECT k, word FROM words WHERE k IN (1, 300) ORDER BY k;
SET client_encoding = 'EUC_JP';
INSERT INTO words (k, word, many) VALUES (400, chr(26085) || chr(26412), ARRAY[chr(26085)]), (401, chr(12354), NULL);
SELECT k, word, many, length(word) FROM words WHERE k >= 400 ORDER BY k;
SET client_encoding = 'UTF8';
SELECT * FROM words ORDER BY k;
RESET client_encoding;
SELECT * FROM words ORDER BY k;
