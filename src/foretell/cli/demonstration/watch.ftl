-- Logins of two machines, and goods that pass the readers of a shop.

STREAM logins (ip STRING, status STRING) TIME time ID event;

SUBSCRIBE intrusion FROM logins
MATCH  s1 ; s2 ; s3 @(t(s3) - t(s1) < 5 min) ; s4
DEFINE s1, s2, s3 AS ip = $x AND status = 'denied',
       s4         AS ip = $x AND status = 'success';

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
