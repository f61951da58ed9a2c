"""The profile tree of A-MEDIAS (section 7.2): a decision tree over profiles, ordered by the events' distribution."""
