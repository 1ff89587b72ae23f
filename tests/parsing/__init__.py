"""Cases of HTML parsing in the forms of the public tests, and what our parser makes of them.

The forms: `.dat` (web-platform-tests, tree construction) and `.test` (html5lib, tokenizer). Ours are beside it.
"""
