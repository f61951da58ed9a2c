"""Training: traces are recorded, the structure of the model is selected, transitions are counted, and it is fitted."""
