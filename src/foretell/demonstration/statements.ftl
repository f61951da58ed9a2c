-- The flights that left New York in 2013, from its three airports. An event is a departure, at the
-- moment when the aircraft left; a cancelled flight is an event at the time when it should have left.
STREAM flights (
  flight    STRING,  -- B6 1634
  carrier   STRING,
  airline   STRING,
  tailnum   STRING,  -- the aircraft
  origin    STRING,  -- EWR, JFK or LGA
  dest      STRING,
  distance  INT,  -- in miles
  scheduled TIMESTAMP,
  delay     INT  -- in minutes; NULL where the flight was cancelled
) TIME time ID id
       LET cancelled AS delay IS NULL,
           bad AS cancelled OR delay >= 60;

-- The weather at the three airports, hour by hour.
STREAM weather (
  origin        STRING,
  visibility    FLOAT,  -- in miles, 10 at most
  wind          FLOAT,  -- in miles an hour
  precipitation FLOAT   -- in inches
) TIME time;

-- Departures as a receiver with gaps hears them: we take away one report in ten, at random.
STREAM reports (
  carrier  STRING,
  tailnum  STRING,
  origin   STRING,
  dest     STRING,
  distance INT
) TIME time ID id;

-- HAS HAPPENED: ten departures or more of an airline at an airport go wrong, one after the other.
-- LONGEST takes the whole run, however long it is.
SUBSCRIBE bad_run FROM flights
PER    carrier, origin
MATCH  f{10,}
DEFINE f AS bad
AFTER MATCH LONGEST
RETURN first(f).airline AS airline, count(f) AS departures;

-- HAS HAPPENED: in the fog one can see half a mile or less, and the next departures to be cancelled
-- are five or more within six hours. Two streams, merged for each airport.
SUBSCRIBE fogged_in FROM weather, flights
PER    origin
MATCH  fog ;{stream = 'flights' AND cancelled} c{5,}
DEFINE fog AS stream = 'weather' AND visibility <= 0.5
WITHIN 6 hours
AFTER MATCH LONGEST
RETURN fog.visibility AS miles, count(c) AS departures;

-- HAS HAPPENED: an aircraft leaves New York an hour late or more, comes back, and is late again,
-- three times or more on one day. The delay is handed on from flight to flight.
SUBSCRIBE handed_on FROM flights
PER    tailnum
MATCH  f{3,}
DEFINE f AS tailnum IS NOT NULL AND delay >= 60
WITHIN 16 hours
AFTER MATCH LONGEST
RETURN first(f).airline AS airline, count(f) AS departures, first(f).delay AS first_delay,
       last(f).delay AS last_delay;

-- IS ABOUT TO HAPPEN: will five departures in a row of this airline at this airport go wrong, among
-- its next ten? Learned from the past, separately for each airline and airport.
SUBSCRIBE trouble_ahead FROM flights
PER    carrier, origin
MATCH  f{5}
DEFINE f AS bad
FORECAST WITHIN 10 EVENTS ABOVE 0.5;

-- MAY HAVE HAPPENED: an aircraft of the shuttle from New York to Boston and Washington leaves twice
-- within twelve hours. Did it leave once more in between, and the report was lost?
SUBSCRIBE unheard FROM reports
PER    tailnum
MATCH  out ; hidden ; again
DEFINE out, again AS carrier = 'US' AND distance < 250,
       hidden     AS carrier = 'US' AND distance < 250 AND t(hidden) < t(again)
WITHIN 12 hours
LOSING 0.1 OF hidden ABOVE 0.05;
