"""The experiments of the P-ToPSS paper (Figs. 9 to 11)."""
