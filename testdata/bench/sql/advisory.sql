\set id :client_id * 10000 + random(1, 10000)
SELECT pg_try_advisory_lock(:id);
SELECT pg_advisory_unlock(:id);
