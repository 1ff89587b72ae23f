"""The server: HTTP becomes one call of `app.Workspace` or `app.jobs`, then JSON, events or a page.

It decides nothing. A request passes `security` first: host, origin, form of the body, token, scope. What a verb
raises becomes a problem in `problems`. `api` has one module per resource, `ui` the pages; `application` puts them
together and `serve` runs them. Verbs block, so routes that call them are plain functions, which run in a bounded
pool of threads.
"""
