-- What the displays of an aircraft are told depends on the mode of flight.
STREAM signals (aircraft STRING, source STRING, value FLOAT) TIME time;

-- Three fixes one after the other above the speed limit.
SUBSCRIBE fast FROM signals
PER    aircraft
MATCH  a ;{source = 'speed'} b ;{source = 'speed'} c
DEFINE a AS source = 'speed' AND value > 250,
       b AS value > 250,
       c AS value > 250
AFTER MATCH SKIP PAST LAST
RETURN a.aircraft AS aircraft, c.value AS knots;

-- At cruise a position needs both sensors, unless a dropout comes first. On approach
-- there are two attempts at localizer and glide slope; a deviation ends an attempt.
CORRELATE displays FROM signals, fast
PER    aircraft
DO     in(cruise) do{parallel{
           repeat{do{push('position'){accumulate{gps, inertial}}} unless{dropout}},
           push('check sensors'){repeat(2){dropout}},
           repeat{push('overspeed'){overspeed}}}}
       in(approach) do{parallel{
           push('established'){
               persist(2){do{sequential{localizer, slope}} unless{deviation}}},
           push('go around'){fail{
               persist(2){do{sequential{localizer, slope}} unless{deviation}}}}}}
DEFINE cruise    AS source = 'flaps' AND value = 0,
       approach  AS source = 'flaps' AND value > 0,
       gps       AS source = 'gps' AND value IS NOT NULL,
       inertial  AS source = 'inertial' AND value IS NOT NULL,
       dropout   AS source IN ('gps', 'inertial') AND value IS NULL,
       overspeed AS stream = 'fast',
       localizer AS source = 'localizer',
       slope     AS source = 'glide slope',
       deviation AS source = 'deviation' AND value > 2;

-- Two aircraft that go around within ten minutes.
SUBSCRIBE congested FROM displays
MATCH  one ; other
DEFINE one, other AS token = 'go around'
WITHIN 10 min;
