-- Three failed logins from one address within five minutes, and then a success.
STREAM logins (ip STRING, status STRING) TIME time ID event;

SUBSCRIBE intrusion FROM logins
MATCH  s1 ; s2 ; s3 @(t(s3) - t(s1) < 5 min) ; s4
DEFINE s1, s2, s3 AS ip = $x AND status = 'denied',
       s4         AS ip = $x AND status = 'success';
