import { readDatabaseUrl, shownLocation } from "./database-url.ts";

/** The location of the data: a directory, or a PostgreSQL database. */
export type DataLocation = { readonly directory: string } | { readonly database: DatabaseSettings };

export interface DatabaseSettings {
  readonly url: string;
  /** The URL that bypasses the connection pooler; null without a pooler. */
  readonly direct: string | null;
  /** The most connections to it. */
  readonly connections: number;
}

/** The location that the settings name. */
export function locationOf(config: {
  readonly data: string;
  readonly database: string | null;
  readonly databaseDirect: string | null;
  readonly databaseConnections: number;
}): DataLocation {
  const { data, database: url, databaseDirect: direct, databaseConnections: connections } = config;
  return url === null ? { directory: data } : { database: { url, direct, connections } };
}

/** Names a location without its secrets. */
export function shownDataLocation(location: DataLocation): string {
  return "directory" in location ? location.directory : shownLocation(readDatabaseUrl(location.database.url));
}
