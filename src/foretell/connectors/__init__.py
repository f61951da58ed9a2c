"""Connectors: MQTT brokers and webhooks, with or without Spark."""
