-- Plain column names: `offset` is a keyword of SQL, `kin` was unclear.
ALTER TABLE bodies RENAME COLUMN offset TO position;

ALTER TABLE outputs RENAME COLUMN offset TO size;

ALTER TABLE urls RENAME COLUMN kin TO family_member;
