import { readFileSync } from "node:fs";
import { SQL } from "bun";
import { StoreError } from "../domain/store.ts";
import type { ConnectionSettings } from "../store/location.ts";

/** Options of the connections to a database. */
export interface PoolOptions {
  /** The most connections that are open at once. */
  readonly connections: number;
  /** The timeout of a statement; 0 for none. */
  readonly statementTimeoutMs?: number;
  /** Whether the connections go through a pooler in transaction mode, which accepts no settings. */
  readonly isPooled?: boolean;
  /** Whether the connections are read-only, so that the server refuses writes. */
  readonly isReader?: boolean;
  /** Called when an open connection has ended. */
  readonly ended?: () => void;
}

const connectTimeoutSeconds = 5;

/** Opens Bun's connection pool with our settings. Throws a `StoreError` for a certificate that cannot be read. */
export function driver(
  settings: ConnectionSettings,
  { connections, isPooled, isReader, ended }: PoolOptions,
  timeoutMs: number,
): SQL {
  const { host, port, socket, database, user, password, sslMode } = settings;
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return new SQL({
    adapter: "postgres",
    // `sslmode` is accepted only in a URL.
    url: `postgres://${socket === null ? shownHost : "localhost"}:${port}/?sslmode=${sslMode}`,
    username: user,
    password,
    database,
    ...(socket !== null && { path: socket }),
    ...tlsOf(settings),
    max: connections,
    ...(ended && { onclose: ended }),
    connectionTimeout: connectTimeoutSeconds,
    // Closes unused connections. A pool without a statement timeout keeps its connections.
    idleTimeout: timeoutMs === 0 ? 0 : 60,
    // Reconnects regularly, so that connections spread over all servers behind an address.
    maxLifetime: timeoutMs === 0 ? 0 : 1800,
    prepare: isPooled !== true,
    ...(isPooled !== true && {
      connection: {
        application_name: "onair",
        statement_timeout: timeoutMs,
        // An abandoned transaction must not hold its locks.
        idle_in_transaction_session_timeout: timeoutMs,
        ...(isReader && { default_transaction_read_only: true }),
      },
    }),
  });
}

function tlsOf({ sslMode, sslRootCert, sslCert, sslKey }: ConnectionSettings) {
  const isVerified = sslMode.startsWith("verify-");
  if (sslRootCert === null && sslCert === null && !isVerified) return {};
  return {
    tls: {
      ...(isVerified && { rejectUnauthorized: true }),
      ...(sslRootCert !== null && { ca: pemOf(sslRootCert) }),
      ...(sslCert !== null && { cert: pemOf(sslCert) }),
      ...(sslKey !== null && { key: pemOf(sslKey) }),
    },
  };
}

/** The last content of each file, used when a file cannot be read because it is being replaced. */
const readPems = new Map<string, string>();

function pemOf(file: string): string {
  try {
    const pem = readFileSync(file, "utf8");
    readPems.set(file, pem);
    return pem;
  } catch {
    const known = readPems.get(file);
    if (known !== undefined) return known;
    throw new StoreError(`${file}, named in the URL of the database, cannot be read.`);
  }
}
