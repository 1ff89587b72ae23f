"""What the verbs return: a module of frozen records per subject, and in `record` how they are made and printed."""
