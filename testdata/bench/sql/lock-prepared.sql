\set id :client_id * 10000 + random(1, 10000)
SELECT token FROM raisin_lock_acquire(:id, 60000) \gset
SELECT raisin_lock_release(:id, :token);
