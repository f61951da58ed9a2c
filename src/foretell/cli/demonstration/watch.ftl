-- Logins of two machines, and goods that pass the readers of a shop.

STREAM logins (ip STRING, status STRING) TIME time ID event;

SUBSCRIBE intrusion FROM logins
PER    ip
MATCH  fail{3,} , ok
DEFINE fail AS status = 'denied',
       ok   AS status = 'success'
WITHIN 10 min
AFTER MATCH LONGEST;

STREAM reads (receptor STRING, id STRING) TIME time;

-- From the shelf (A) to the exit (C) and not past the counter (B).
-- Every reader misses one in twenty.
SUBSCRIBE shoplifting FROM reads
MATCH  x ; !y ; z
DEFINE x AS receptor = 'A' AND id = $id,
       y AS receptor = 'B' AND id = $id,
       z AS receptor = 'C' AND id = $id
WITHIN 12 hours
LOSING 0.05 ABOVE 0.30;
