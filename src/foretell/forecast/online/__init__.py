"""Forecasters: observers of running subscriptions, which learn and forecast while events come."""
