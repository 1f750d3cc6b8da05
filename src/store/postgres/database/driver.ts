import { readFileSync } from "node:fs";
import { SQL } from "bun";
import { StoreError } from "../../faults.ts";
import type { ConnectionSettings } from "./connection-url.ts";

/** How connections to a database are made. */
export interface PoolOptions {
  /** Most connections that are open at once. */
  readonly connections: number;
  /** The time in which a statement ends; 0: it has all the time it needs. */
  readonly statementTimeoutMs?: number;
  /** Whether a pooler stands between, which gives each transaction another connection and takes no settings. */
  readonly isPooled?: boolean;
  /** Whether it only reads: the server refuses writes then. */
  readonly isReader?: boolean;
  /** Called when a connection has ended that was open. */
  readonly ended?: () => void;
}

const connectTimeoutSeconds = 5;

/** Bun's pool of connections, and its settings. Throws `StoreError` for a certificate that cannot be read. */
export function driver(
  settings: ConnectionSettings,
  { connections, isPooled, isReader, ended }: PoolOptions,
  timeoutMs: number,
): SQL {
  const { host, port, socket, database, user, password, sslMode } = settings;
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return new SQL({
    adapter: "postgres",
    // `sslmode` can be given in a URL alone.
    url: `postgres://${socket === null ? shownHost : "localhost"}:${port}/?sslmode=${sslMode}`,
    username: user,
    password,
    database,
    ...(socket !== null && { path: socket }),
    ...tlsOf(settings),
    max: connections,
    ...(ended && { onclose: ended }),
    connectionTimeout: connectTimeoutSeconds,
    // After that a pool has only as many connections as it uses. Work that has all the time it needs keeps its own.
    idleTimeout: timeoutMs === 0 ? 0 : 60,
    // So that connections spread anew over what stands behind an address.
    maxLifetime: timeoutMs === 0 ? 0 : 1800,
    prepare: isPooled !== true,
    ...(isPooled !== true && {
      connection: {
        application_name: "onair",
        statement_timeout: timeoutMs,
        // A transaction that its process has forgotten must not hold its locks.
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

/** What was read last: connections are made anew while a file is replaced, too. */
const readPems = new Map<string, string>();

function pemOf(file: string): string {
  try {
    const pem = readFileSync(file, "utf8");
    readPems.set(file, pem);
    return pem;
  } catch {
    const known = readPems.get(file);
    if (known !== undefined) return known;
    throw new StoreError(`${file}, which the URL of the database names, cannot be read.`);
  }
}
