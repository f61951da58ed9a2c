"""MQTT: subscribe to event topics, publish notifications.

A sink needs a `Broker` and a `Topic` (`Topic(Broker(...), "topic").connect`), a source a `Broker`, a
`TopicSubscription` and a `Subscriber`.
"""

from foretell.connectors.mqtt.client import Broker
from foretell.connectors.mqtt.publisher import Topic
from foretell.connectors.mqtt.subscriber import Subscriber, TopicSubscription

__all__ = ["Broker", "Subscriber", "Topic", "TopicSubscription"]
