"""From the rules of grammar.lark to tree nodes: one method for each rule, in the order of the grammar."""
