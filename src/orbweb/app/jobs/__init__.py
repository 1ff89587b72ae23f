"""Jobs: crawls and exports that a server runs for its clients, each with a durable id.

A job is a row before the call that made it returns. `supervisor` starts one process per job, `process` is what
runs in it, `remote` says what a client may ask for, `follower` turns what crawls of any face are doing into
events. After a crash of the server its jobs keep their ids: a process that lives goes on being followed, the job
of one that does not is resumed as a further crawl of the same run.
"""
