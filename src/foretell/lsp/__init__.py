"""The language server (`foretell lsp`): what editors show of statements while they are typed.

`server` speaks the protocol, each feature has a module of its own, and all of them read a `Document`: the text with its
words, and what the parser and the type check said of it (`analysis`). Checks of meaning, which may take seconds, run in
another process (`background_check`, `check_process`). Texts are never executed, and no file is read.
"""
