STREAM s (kind STRING, g STRING, v INT, w FLOAT, nr INT, time INT) TIME time ID nr LATE BY 2;

STREAM u (kind STRING, g STRING, v INT, time INT) TIME time TIES SIMULTANEOUS;

SUBSCRIBE strict
FROM s
MATCH a , b , c
DEFINE a AS kind = 'a',
       b AS v > a.v,
       c AS v > b.v;

SUBSCRIBE run
FROM s
PER g
MATCH a , b+
DEFINE a AS kind = 'a',
       b AS w >= prev.w
RETURN count(b) AS n, avg(b.w) AS mean, a.kind AS kind;

SUBSCRIBE shared
FROM s
MATCH a ;{kind = 'b'} b ; c
DEFINE a AS kind = 'a',
       c AS v = a.v
WITHIN 9;

SUBSCRIBE hashed
FROM s
MATCH a ;{kind = a.kind} b ;{kind = a.kind} c
DEFINE c AS v > b.v
WITHIN 12;

SUBSCRIBE lists
FROM s
MATCH a ; b ; c
DEFINE a AS kind = $k AND v > 1,
       b AS kind = $k,
       c AS kind = $k
WITHIN 7;

SUBSCRIBE gaps
FROM s
PER g
MATCH a ; !x ; b
DEFINE a AS kind = 'a',
       x AS kind = 'c',
       b AS kind = 'b'
WITHIN 9;

SUBSCRIBE deferred
FROM s
MATCH a ; !x ; b
DEFINE a AS kind = 'a',
       x AS v = b.v,
       b AS kind = 'b'
WITHIN 6;

SUBSCRIBE trailing
FROM s
PER g
MATCH a ; !b
DEFINE a AS kind = 'a',
       b AS kind = 'b'
WITHIN 4;

SUBSCRIBE leading
FROM s
MATCH !x ; a
DEFINE x AS kind = 'c',
       a AS kind = 'a'
WITHIN 3;

SUBSCRIBE every
FROM s
PER g
MATCH a[3]
DEFINE a AS kind = 'b';

SUBSCRIBE ticks
FROM s
MATCH a ; b[2]
DEFINE a AS kind = 'a',
       b AS kind = 'b'
WITHIN 9;

SUBSCRIBE both
FROM s
MATCH a & b
DEFINE a AS kind = 'a' AND g = $x,
       b AS kind = 'c' AND g = $x
WITHIN 5;

SUBSCRIBE newest
FROM s
MATCH a ;{kind = 'b'} LAST b
DEFINE a AS kind = 'a'
WITHIN 6;

SUBSCRIBE earliest
FROM s
MATCH FIRST a ; b
DEFINE a AS kind = 'a',
       b AS kind = 'b'
WITHIN 9;

SUBSCRIBE consumed
FROM s
MATCH a ; b
DEFINE a AS kind = 'a',
       b AS kind = 'b'
AFTER MATCH CONSUME;

SUBSCRIBE skipped
FROM s
PER g
MATCH a ; b
DEFINE a AS kind = 'a',
       b AS kind = 'b'
WITHIN 9
AFTER MATCH SKIP PAST LAST;

SUBSCRIBE silent
FROM s
PER g
MATCH !a
DEFINE a AS kind = 'a'
WITHIN 3;

SUBSCRIBE served
FOR EACH limits
FROM s
MATCH a , b
DEFINE a AS v >= :least AND g = :g,
       b AS v > a.v;

SUBSCRIBE listed
FOR EACH limits
FROM s
MATCH a ; b
DEFINE a AS v >= :least,
       b AS kind = 'c'
WITHIN 4;

SUBSCRIBE rows
FOR EACH limits
FROM s
MATCH a ; b
DEFINE a AS kind = 'a',
       b AS v >= :least AND g = a.g
WITHIN 4;

SUBSCRIBE derived
FROM run, s
MATCH a ; b
DEFINE a AS stream = 'run' AND n > 0,
       b AS kind = 'c'
WITHIN 9;

SUBSCRIBE at_once
FROM u
MATCH a , b
DEFINE a AS kind = 'a',
       b AS kind = 'b';

SUBSCRIBE later
FROM s
MATCH a , b
DEFINE a AS kind = 'a',
       b AS v > a.v;
