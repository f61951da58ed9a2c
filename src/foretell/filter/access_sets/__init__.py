"""Access sets: profiles grouped by the attributes that they fix by equality, with a hash table for each group."""
