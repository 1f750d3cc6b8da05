import { readDatabaseUrl, shownPlace } from "../store/postgres/database/connection-url.ts";

/** Where the data is: in a directory, or in a database of PostgreSQL. */
export type DataPlace = { readonly directory: string } | { readonly database: DatabaseSettings };

export interface DatabaseSettings {
  readonly url: string;
  /** The same without a pooler in between; null where there is none. */
  readonly direct: string | null;
  /** Connections to it, at most. */
  readonly connections: number;
}

/** The place in the settings. */
export function placeOf(config: {
  readonly data: string;
  readonly database: string | null;
  readonly databaseDirect: string | null;
  readonly databaseConnections: number;
}): DataPlace {
  const { data, database: url, databaseDirect: direct, databaseConnections: connections } = config;
  return url === null ? { directory: data } : { database: { url, direct, connections } };
}

/** The place as it can be shown. */
export function shownDataPlace(place: DataPlace): string {
  return "directory" in place ? place.directory : shownPlace(readDatabaseUrl(place.database.url));
}
