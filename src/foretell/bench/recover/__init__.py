"""`foretell bench recover`: lost events."""
