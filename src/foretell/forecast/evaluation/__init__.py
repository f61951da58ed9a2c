"""How good forecasts were: metrics, scorecards, backtests, model warnings."""
