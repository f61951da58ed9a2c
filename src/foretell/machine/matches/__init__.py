"""From raw matches to result batches: post filters, FIRST and LAST, AFTER MATCH, the codec."""
