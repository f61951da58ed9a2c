"""Forecasters that run beside the engine."""
