"""`foretell bench recover` and `foretell bench calibration`: lost events."""
