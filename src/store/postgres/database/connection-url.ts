/** How far the connection to the server is encrypted, in the words of `psql`. */
const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;
type SslMode = (typeof sslModes)[number];

/** Where a database is, and the role that connects. */
export interface ConnectionSettings {
  readonly host: string;
  readonly port: number;
  /** The directory of the server's socket, instead of host and port. */
  readonly socket: string | null;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  readonly sslMode: SslMode;
  /** Files in PEM: what the server's certificate is checked by, and the certificate and key of this client. */
  readonly sslRootCert: string | null;
  readonly sslCert: string | null;
  readonly sslKey: string | null;
}

const example = "postgres://onair@db.example.com/onair?sslmode=verify-full";
const parameters = ["host", "sslmode", "sslrootcert", "sslcert", "sslkey"];

/** Reads a `postgres://` URL. Throws a `TypeError` that states what it must be, without the password. */
export function readDatabaseUrl(text: string): ConnectionSettings {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new TypeError(`must be a URL like ${example}`);
  }
  const given = url.searchParams;
  const unknown = [...given.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `must have no other parameters than ${parameters.join(", ")}: "${unknown}" is not one`,
    );
  }
  const sslMode = given.get("sslmode") ?? "prefer";
  if (!isSslMode(sslMode)) {
    throw new TypeError(`must have an sslmode of ${sslModes.join(", ")}: "${sslMode}" is not one`);
  }
  const database = decoded(url.pathname.slice(1));
  if (database === "") throw new TypeError(`must end with the name of the database, like ${example}`);
  if (url.hostname.includes(",") || url.hostname.includes("%2C")) {
    throw new TypeError("must name one host, which leads to the primary");
  }
  const host = decoded(url.hostname).replace(/^\[|\]$/g, "") || given.get("host") || "localhost";
  return {
    host,
    port: Number(url.port || 5432),
    socket: host.startsWith("/") ? host : null,
    database,
    user: decoded(url.username) || "onair",
    password: decoded(url.password),
    sslMode,
    sslRootCert: given.get("sslrootcert"),
    sslCert: given.get("sslcert"),
    sslKey: given.get("sslkey"),
  };
}

/** The place of a database as it can be shown: without user and password. */
export function shownPlace({ host, port, socket, database }: ConnectionSettings): string {
  return socket === null ? `${host}:${port}/${database}` : `${socket}/${database}`;
}

/** The URL of a database without its password. */
export function namedPlace({ host, port, socket, database, user }: ConnectionSettings): string {
  const [as, name] = [encodeURIComponent(user), encodeURIComponent(database)];
  if (socket !== null) return `postgres://${as}@${encodeURIComponent(socket)}:${port}/${name}`;
  return `postgres://${as}@${host.includes(":") ? `[${host}]` : host}:${port}/${name}`;
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
