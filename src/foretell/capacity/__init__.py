"""The performance model of a deployment (A-MEDIAS, section 7.1): stochastic Petri nets and their simulation."""
