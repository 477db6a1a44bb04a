-- Makes keywords.txt: psql -At -f keywords.sql > ../keywords.txt
SELECT word || ' ' || catcode::text FROM pg_get_keywords()
