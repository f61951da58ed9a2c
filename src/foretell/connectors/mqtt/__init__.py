"""MQTT: subscribe to event topics, publish notifications."""
