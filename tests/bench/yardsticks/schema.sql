CREATE TABLE users (
  id INTEGER PRIMARY KEY,
  username TEXT NOT NULL COLLATE NOCASE UNIQUE,
  display_name TEXT NOT NULL,
  bio TEXT NOT NULL,
  profile_picture TEXT,
  followers_count INTEGER NOT NULL,
  following_count INTEGER NOT NULL,
  is_verified INTEGER NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE categories (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  slug TEXT NOT NULL UNIQUE,
  icon TEXT NOT NULL,
  banner TEXT NOT NULL,
  viewers INTEGER NOT NULL, -- kept up to date when viewers are reported, so that a page needs no sums
  tags TEXT NOT NULL
) STRICT;

CREATE INDEX categories_by_viewers ON categories (viewers DESC, id);

CREATE TABLE applications (
  id TEXT PRIMARY KEY,
  rate_limit INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
  hash BLOB PRIMARY KEY,
  application_id TEXT NOT NULL REFERENCES applications (id),
  scopes TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
