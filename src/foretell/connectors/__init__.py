"""Systems outside Spark that send events or receive notifications."""
