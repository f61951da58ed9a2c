"""Layout: a text in the usual layout, with its comments (`formatter`).

The printer (`language/printer.py`) makes a text of a tree, which has no comments, no brackets that change nothing, and
no line ends. The formatter makes one of the tokens and keeps all of them.
"""
