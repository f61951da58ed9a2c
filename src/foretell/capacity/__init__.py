"""The performance model of a deployment: stochastic Petri nets, their simulation, and the nets of A-MEDIAS, section 7.1."""
