"""The nets of A-MEDIAS, section 7.1: one module for each part, and the whole service."""
