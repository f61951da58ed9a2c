"""The public calls: run, train, backtest, recalibrate, check, capacity."""
