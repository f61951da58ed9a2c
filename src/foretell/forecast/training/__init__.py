"""Training: traces, context order, calibration."""
