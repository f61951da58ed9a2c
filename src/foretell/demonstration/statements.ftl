-- The flights that left New York in 2013, from its three airports. An event is a departure, at the
-- moment when the aircraft left; a cancelled flight is an event at the time when it should have left.
STREAM flights (
  flight    STRING,    -- B6 1634
  carrier   STRING,
  airline   STRING,
  tailnum   STRING,    -- the aircraft
  origin    STRING,    -- EWR, JFK or LGA
  dest      STRING,
  distance  INT,       -- in miles
  scheduled TIMESTAMP,
  delay     INT        -- in minutes; NULL where the flight was cancelled
) TIME time ID id
  LET cancelled AS delay IS NULL,
      bad AS cancelled OR delay >= 60;

-- The weather at the three airports, hour by hour.
STREAM weather (
  origin        STRING,
  visibility    FLOAT,    -- in miles, 10 at most
  wind          FLOAT,    -- in miles an hour
  precipitation FLOAT     -- in inches
) TIME time;

-- The same departures as a receiver with gaps hears them: one report in ten never arrives.
STREAM reports (
  tailnum  STRING,
  origin   STRING,
  dest     STRING,
  distance INT,
  delay    INT
) TIME time ID id LOSS 0.1;

-- Has happened: ten departures or more of an airline at an airport go wrong one after the other.
SUBSCRIBE bad_run FROM flights
PER    carrier, origin
MATCH  f{10,}
DEFINE f AS bad
AFTER MATCH LONGEST
RETURN first(f).airline AS airline, count(f) AS departures;
