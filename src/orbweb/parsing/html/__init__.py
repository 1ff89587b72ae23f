"""The HTML parser: tokenizer, tree builder, tree, CSS selectors, and the links and metadata of a page."""
