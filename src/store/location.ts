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

/** Names a location without a password, so that a command can use the name. */
export function namedDataLocation(location: DataLocation): string {
  return "directory" in location ? location.directory : namedLocation(directly(location.database));
}

/** The address of a database without a connection pooler. */
export const directly = ({ url, direct }: DatabaseSettings): ConnectionSettings =>
  readDatabaseUrl(direct ?? url);

/** Modes of encrypting and verifying the connection, with the names of libpq. */
const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;

type SslMode = (typeof sslModes)[number];

/** The address of a server. */
export interface Host {
  readonly host: string;
  readonly port: number;
  /** The directory of the server's socket, instead of host and port. */
  readonly socket: string | null;
}

/** The address of a database, and how to connect to it. */
export interface ConnectionSettings extends Host {
  /** Further hosts. Any of the hosts may be the primary. */
  readonly others: readonly Host[];
  readonly database: string;
  readonly user: string;
  readonly password: string;
  readonly sslMode: SslMode;
  /** PEM files: the root certificate for the server's certificate, and the certificate and key of this client. */
  readonly sslRootCert: string | null;
  readonly sslCert: string | null;
  readonly sslKey: string | null;
}

const example = "postgres://onair@db.example.com/onair?sslmode=verify-full";

const parameters = ["host", "target_session_attrs", "sslmode", "sslrootcert", "sslcert", "sslkey"];

/** The accepted values of `target_session_attrs`. The server must always accept writes. */
const sessionAttrs = ["read-write", "primary"];

/**
 * Parses a `postgres://` URL with one host or, as in libpq, several separated by commas. Throws a `TypeError` that
 * states what the URL must be, without its password.
 */
export function readDatabaseUrl(text: string): ConnectionSettings {
  const [, before = "", list = "", rest = ""] = /^([^/]*\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? [];
  const hosts = list.split(",");
  if (hosts.length > 1 && hosts.includes("")) throw new TypeError("must name each of its hosts");
  const [first, ...others] = hosts.map((host) => readUrl(before + host + rest));
  if (!first) throw new TypeError(`must be a URL like ${example}`);
  return { ...first, others: others.map(({ host, port, socket }) => ({ host, port, socket })) };
}

function readUrl(text: string): ConnectionSettings {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new TypeError(`must be a URL like ${example}`);
  }
  const query = url.searchParams;
  const unknown = [...query.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `must have no other parameters than ${parameters.join(", ")}: "${unknown}" is not one`,
    );
  }
  const attrs = query.get("target_session_attrs");
  if (attrs !== null && !sessionAttrs.includes(attrs)) {
    throw new TypeError(`must have target_session_attrs=${sessionAttrs.join(" or ")}, or none`);
  }
  const sslMode = query.get("sslmode") ?? "prefer";
  if (!isSslMode(sslMode)) {
    throw new TypeError(`must have an sslmode of ${sslModes.join(", ")}: "${sslMode}" is not one`);
  }
  const database = decoded(url.pathname.slice(1));
  if (database === "") throw new TypeError(`must end with the name of the database, like ${example}`);
  const host = decoded(url.hostname).replace(/^\[|\]$/g, "") || query.get("host") || "localhost";
  return {
    host,
    port: Number(url.port || 5432),
    socket: host.startsWith("/") ? host : null,
    others: [],
    database,
    user: decoded(url.username) || "onair",
    password: decoded(url.password),
    sslMode,
    sslRootCert: query.get("sslrootcert"),
    sslCert: query.get("sslcert"),
    sslKey: query.get("sslkey"),
  };
}

function isSslMode(text: string): text is SslMode {
  return sslModes.some((mode) => mode === text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError("must have two hexadecimal digits behind each %");
  }
}

/** Returns the hosts and name of a database, without user and password. */
export function shownLocation(settings: ConnectionSettings): string {
  return `${hostsOf(settings).map(shownHost).join(",")}/${settings.database}`;
}

/** Returns all hosts of a database, in their order. */
export const hostsOf = ({ others, ...first }: ConnectionSettings): readonly Host[] => [first, ...others];

export const shownHost = ({ host, port, socket }: Host): string => socket ?? `${host}:${port}`;

/** Returns the URL of a database without its password. */
export function namedLocation(settings: ConnectionSettings): string {
  const [as, name] = [encodeURIComponent(settings.user), encodeURIComponent(settings.database)];
  const hosts = hostsOf(settings).map(({ host, port, socket }) => {
    const named = socket === null ? host : encodeURIComponent(socket);
    return `${named.includes(":") ? `[${named}]` : named}:${port}`;
  });
  return `postgres://${as}@${hosts.join(",")}/${name}`;
}
