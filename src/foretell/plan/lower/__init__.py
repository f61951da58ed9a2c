"""From an NFA to flat arrays: registers, guards, bytecode."""
