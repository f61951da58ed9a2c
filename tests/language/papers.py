"""The examples of the papers, as the language's definition gives them (section 3); `DEFINE ...` is filled in."""

from __future__ import annotations

PAPERS = {
    "intrusion": """
        SUBSCRIBE intrusion FROM logins
        MATCH  s1 ; s2 ; s3 @(t(s3) - t(s1) < 5 min) ; s4
        DEFINE s1, s2, s3 AS ip = $x AND status = 'denied',
               s4         AS ip = $x AND status = 'success';""",
    "compromised": """
        SUBSCRIBE compromised FROM logins
        MATCH  s1 ; ((s2 ; s3 @(t(s3) - t(s1) < 10 min)) | (s4 , s5)) ; s6
        DEFINE s1, s2 AS ip = $x AND status = 'denied',
               s3, s4 AS ip = $x AND status = 'success',
               s5     AS ip = $x AND status = 'passwd',
               s6     AS ip = $x AND status = 'logoff';""",
    "general": """
        SUBSCRIBE general FROM s MATCH s1 ; ((s2 , s3) & (s4 , s5)) ; s6 ; (s7 | s8)
        DEFINE s1, s2 AS kind = 'a', s3, s4, s5 AS kind <> 'a' AND v >= 1, s6, s7 AS v % 2 = 0;""",
    "timed": """
        SUBSCRIBE timed FROM s
        MATCH s1 ; s2 @(t(s2) - t(s1) < 3) ; s3 @(t(s3) - t(s1) < 6) @(t(s3) - t(s2) > 3)
        DEFINE s1, s2, s3 AS kind = 'a';""",
    "S2": """
        SUBSCRIBE S2 FROM stock MATCH a ;{name = 'MSFT'} b
        DEFINE a AS name = 'IBM' AND price > 100, b AS price < 25;""",
    "S3": """
        SUBSCRIBE S3 FROM stock MATCH a ;{name = a.name} b DEFINE b AS price > 1.05 * a.price;""",
    "S4": """
        SUBSCRIBE S4 FROM stock MATCH a ;{name = a.name} b+ DEFINE b AS price >= prev.price
        HAVING duration >= 30 min;""",
    "S5": """
        SUBSCRIBE S5 FROM stock MATCH a+ ;{name = 'IBM'} b
        DEFINE a AS name = 'IBM', b AS price > avg(a.price) AND t(a) - t(first(a)) >= 52 weeks;""",
    "AutQ": """
        SUBSCRIBE AutQ FROM stock MATCH a ;{name = a.name} b+ ;{name = a.name} c
        DEFINE a AS volume > 10000, b AS price < prev.price,
               c AS price > 1.05 * prev.price AND t(prev) - t(a) >= 10 min;""",
    "S6": """
        SUBSCRIBE S6 FROM feeds MATCH a ;{website IN ('x', 'y') AND contains(description, a.link)} b
        DEFINE a AS website = 'military.blog.com' AND category = 'US troop morale';""",
    "S7": """
        SUBSCRIBE S7 FROM feeds MATCH a ;{website IN ('x', 'y') AND contains(description, prev.link)} b+
        DEFINE a AS website IN ('x', 'y') AND contains(description, 'XYZ');""",
    "break_in": """
        SUBSCRIBE break_in FROM office MATCH window ; presence
        DEFINE window AS kind = 'window broken' AND room = $r, presence AS kind = 'presence' AND room = $r
        WITHIN 5 min AFTER MATCH CONSUME;""",
    "silent": """
        SUBSCRIBE silent FROM heartbeats PER sensor MATCH !beat WITHIN 10 min;""",
    "shoplifting": """
        SUBSCRIBE shoplifting FROM reads
        MATCH  x ; !y ; z
        DEFINE x AS receptor = 'A' AND id = $id, y AS receptor = 'B' AND id = $id, z AS receptor = 'C' AND id = $id
        WITHIN 12 hours
        LOSING 0.05 ABOVE 0.80;""",
}
