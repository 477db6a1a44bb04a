-- A batch like those that clients send, for TestDigestOfAFile.
SELECT version();
SELECT t.oid, "Odd name" FROM pg_type AS t
WHERE t.typname <> 'it''s' AND t.oid::int4 IN (1, 2, 3) AND t.typelem >= -1 /* a comment */;
