"""What an event is: its types, order and schema; how events are read, and what becomes of malformed ones.

`read` is the door: any source goes in, one Arrow table of settled types comes out, with the bad events beside it.
"""
