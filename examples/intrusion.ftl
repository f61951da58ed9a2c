-- Three or more failed logins from one address in a row, and then a success: one match for the whole attack.
STREAM logins (ip STRING, status STRING) TIME time ID event;

SUBSCRIBE intrusion FROM logins
PER    ip
MATCH  fail{3,} , ok
DEFINE fail AS status = 'denied',
       ok   AS status = 'success'
WITHIN 10 min
AFTER MATCH LONGEST;
