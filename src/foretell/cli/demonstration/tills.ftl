-- A card is declined twice in a row, and the customer leaves: how likely is it
-- within the till's next two events? Learned from the events of a day.
STREAM tills (till INT, step STRING) TIME time;

SUBSCRIBE given_up FROM tills PER till
MATCH  a , b , c
DEFINE a, b AS step = 'declined', c AS step = 'left'
FORECAST WITHIN 2 EVENTS ABOVE 0.4;
