"""One episode: text to actions, messages to tokens, the context, the loop, the record."""
