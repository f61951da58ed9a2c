"""Discrete-event simulation of stochastic Petri nets, with confidence intervals by batch means."""
