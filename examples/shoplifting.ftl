-- From the shelf (A) to the exit (C) and not past the counter (B); every reader misses
-- one in twenty.
STREAM reads (receptor STRING, id STRING) TIME time;

SUBSCRIBE shoplifting FROM reads
MATCH  x ; !y ; z
DEFINE x AS receptor = 'A' AND id = $id,
       y AS receptor = 'B' AND id = $id,
       z AS receptor = 'C' AND id = $id
WITHIN 12 hours
LOSING 0.05 ABOVE 0.30;
