"""Bytes on disk: a cache of compiled kernels and checksummed blobs."""
