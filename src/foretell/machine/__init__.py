"""The runtime of match plans: input, executors and their kernels, matches, observation."""
