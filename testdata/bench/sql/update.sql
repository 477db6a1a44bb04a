UPDATE pool SET remaining = remaining - 1 WHERE id = 1 AND remaining > 0 RETURNING remaining;
