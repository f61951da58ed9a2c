"""Input of the executors: merged streams, their order, lanes, and the event buffer."""
