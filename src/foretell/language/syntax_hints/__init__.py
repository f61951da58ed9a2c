"""Syntax errors in the words of a person: what was expected, and what was probably meant.

Most wrong texts are right texts of another language, or of this one with a slip. So an error also says how to write
here what users of SQL, MATCH_RECOGNIZE, Flink and Esper write from habit (`habits`).
"""
