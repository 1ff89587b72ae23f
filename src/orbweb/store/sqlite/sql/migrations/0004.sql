-- The times at which URLs are found and change their state are kept, from now on.
ALTER TABLE urls ADD COLUMN changed_in INTEGER;

-- Every record gets as many values as the table has columns: a damaged file is searched for such records.
UPDATE urls SET changed_in = NULL;

CREATE TABLE units (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    number      INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    first_url   INTEGER NOT NULL,
    next_url    INTEGER NOT NULL,
    first_visit INTEGER NOT NULL,
    next_visit  INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    packed      BLOB NOT NULL,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;
