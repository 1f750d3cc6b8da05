-- Ids of tags beyond 2^53-1, which JSON numbers do not carry exactly: each such tag gets the lowest id that is free, and
-- the categories that have it show that one.
WITH RECURSIVE
	candidates (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM candidates WHERE n < (SELECT count(*) FROM tags)),
	free AS (SELECT n, row_number() OVER (ORDER BY n) AS k FROM candidates WHERE n NOT IN (SELECT id FROM tags)),
	beyond AS (SELECT id, row_number() OVER (ORDER BY id) AS k FROM tags WHERE id > 9007199254740991)
UPDATE tags SET id = moved.n
FROM (SELECT beyond.id, free.n FROM beyond JOIN free ON free.k = beyond.k) AS moved WHERE tags.id = moved.id;
--> statement-breakpoint
UPDATE categories SET tags = (
	SELECT json_group_array(json_object('id', kept.id, 'name', kept.name) ORDER BY shown.key)
	FROM json_each(categories.tags) AS shown JOIN tags AS kept ON kept.name = shown.value ->> 'name'
)
WHERE EXISTS (SELECT 1 FROM json_each(categories.tags) AS shown WHERE shown.value ->> 'id' > 9007199254740991);
