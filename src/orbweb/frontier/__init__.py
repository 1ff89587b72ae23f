"""The frontier: every URL a run has ever seen, and whose turn is next.

The life of a URL: it is *found* on a page and looked up (`known`); a new one is *admitted* with a place
`(depth, rank)`, or recorded as skipped; when its place comes up it is *leased*; after its fetch it is
settled by the ledger in the order of places, *given back* when the crawl stops first, or *deferred* when its
host keeps everyone waiting.

Always holds: within a lane, `lease` hands out places in order, and never one twice. In strict order there
is one lane; in relaxed order each site has its own. Memory is bounded: places beyond a horizon stay in the
database until they are needed. `orbweb.frontier.sqlite` is the backend of a single machine.
"""
