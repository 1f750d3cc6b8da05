import { readFileSync } from "node:fs";
import { type ReservedSQL, SQL } from "bun";
import { type BunSQLDatabase, drizzle } from "drizzle-orm/bun-sql";
import { type ConnectionUse, newHistogram, observe } from "../domain/statistics.ts";
import { StoreError } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import { type ConnectionSettings, type Host, hostsOf, shownHost } from "../store/location.ts";
import {
  DeadlineError,
  isConflictOfWork,
  isReadOnly,
  isUnreachable,
  NoPrimaryError,
  NotSentError,
} from "./faults.ts";

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
        // A transaction whose client is gone must not hold its locks.
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

/** The time for a response. All hosts are queried at once, so that unresponsive ones add no further time. */
const answerMs = 2 * second;

/**
 * Returns the first host, in their order, whose server is a primary. The last primary (`known`) comes first, so that it
 * is preferred to a former primary that came back, and is found without waiting for unresponsive hosts. Throws a
 * lasting error of one of them, such as a wrong password, else a `NoPrimaryError`.
 */
export async function primaryOf(
  settings: ConnectionSettings,
  { known, isPooled = false }: { readonly known: Host | null; readonly isPooled?: boolean | undefined },
): Promise<Host> {
  const isKnown = (host: Host) => known !== null && shownHost(host) === shownHost(known);
  const hosts = hostsOf(settings).toSorted((a, b) => Number(isKnown(b)) - Number(isKnown(a)));
  const candidates = hosts.map((host) => ({ host, whyNot: whyNoPrimary(settings, host, isPooled) }));
  const reasons: string[] = [];
  let lasting: unknown = null;
  for (const { host, whyNot } of candidates) {
    const why = await whyNot;
    if (why === null) return host;
    reasons.push(`${shownHost(host)}: ${why.message}`);
    if (!isUnreachable(why)) lasting ??= why;
  }
  throw lasting ?? new NoPrimaryError(reasons.join(", "));
}

async function whyNoPrimary(
  settings: ConnectionSettings,
  host: Host,
  isPooled: boolean,
): Promise<Error | null> {
  const sql = driver({ ...settings, ...host }, { connections: 1, isPooled }, answerMs);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new NoPrimaryError("it does not respond")), answerMs);
  try {
    const [facts] = await Promise.race([
      sql.unsafe("SELECT pg_is_in_recovery() AS is_standby"),
      late.promise,
    ]);
    return facts?.is_standby === false ? null : new NoPrimaryError("it is a standby");
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    clearTimeout(timer);
    sql.close({ timeout: 0 }).catch(() => {}); // it is no longer used
  }
}

/** drizzle on a pool or on the connection of a transaction. */
type Orm = BunSQLDatabase;

/** Runs statements, on a pool of connections or on the connection of a transaction. */
export interface Queries {
  readonly orm: Orm;
  /** Runs a statement with parameters `$1`, `$2`, …; prepared once on each connection. */
  run<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/**
 * A pool of connections to a database. Statements are pipelined. No call waits longer than the timeout of a statement
 * and `graceMs` for a response: it rejects with a `DeadlineError`, and the silent connection is closed. The outcome of
 * the statement is then unknown.
 */
export interface Postgres extends Queries {
  /**
   * Runs work in a transaction, which is rolled back if it rejects. After a deadlock or a serialization failure, `work`
   * is called again in a new transaction, a few times at most. If the response to COMMIT is missing, the outcome of the
   * transaction is unknown.
   */
  transact<T>(work: (transaction: Queries) => Promise<T>): Promise<T>;
  readonly use: ConnectionUse;
  /** Whether the connections go through a pooler, so that the server ends late statements only in transactions. */
  readonly isPooled: boolean;
  close(): Promise<void>;
}

const defaultTimeoutMs = 10 * second;
/** The server itself ends statements at the timeout. If it has not responded this long after it, it is unreachable. */
const graceMs = 2 * second;
/** How long `close` waits for statements in progress. */
const closeSeconds = 5;
/** The most statements in progress. Further ones are refused at once. */
const mostWaiting = 10_000;
/** How often work is tried that conflicts with other transactions. The pauses become longer. */
const attempts = 8;
/** After a failed connection attempt, statements fail at once for this time. */
const downMs = 250;

const lateCheckMs = second / 2;

/** The upper bounds of the times of statements, in seconds. */
const statementBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;

/** The driver's pool, or its connection for a transaction. */
type Driver = SQL | ReservedSQL;

/** Makes a pool. It connects on demand, so an unreachable database is only noticed with the first statement. */
export function openPool(settings: ConnectionSettings, options: PoolOptions): Postgres {
  return new DriverPool(settings, options);
}

/** A statement in progress, or a transaction that waits for a connection. */
interface Sent {
  readonly sentAt: number;
  /** The pool, or the connection of the transaction; null while it waits for one. */
  readonly by: Driver | null;
  giveUp(error: DeadlineError): void;
}

class DriverPool implements Postgres {
  readonly orm: Orm;
  readonly isPooled: boolean;
  #sql: SQL;
  /** The host of `#sql`. */
  #host: Host;
  /** Whether `#host` is the primary, as far as is known. Always true for a single host. */
  #isAtPrimary: boolean;
  #seeking: Promise<SQL> | null = null;
  #answeredAt = performance.now();
  #downUntil = 0;
  #downBy: unknown = null;
  #timer: Timer | null = null;
  #checkedAt = 0;
  readonly #sent = new Set<Sent>();
  /** The number of connections that are taken out of the pool for transactions. */
  #reserved = 0;
  readonly #statementSeconds = newHistogram(statementBounds);
  /** Former pools, each with the timer that closes it. */
  readonly #retired = new Map<SQL, Timer>();
  /** Connections of transactions that were closed because they gave no response. */
  readonly #discarded = new WeakSet<Driver>();
  readonly #timeoutMs: number;
  /** Begins a transaction. Connections through a pooler have no timeouts of their own. */
  readonly #begin: string;
  /** A statement without a response after this time is late. */
  readonly #patienceMs: number;

  constructor(
    readonly settings: ConnectionSettings,
    readonly options: PoolOptions,
  ) {
    this.#timeoutMs = options.statementTimeoutMs ?? defaultTimeoutMs;
    const timeouts = ["statement_timeout", "idle_in_transaction_session_timeout"];
    const limits = timeouts.map((name) => `SET LOCAL ${name} = ${this.#timeoutMs}`);
    this.isPooled = options.isPooled === true;
    this.#begin = this.isPooled ? ["BEGIN", ...limits].join("; ") : "BEGIN";
    this.#patienceMs = (this.#timeoutMs || Number.POSITIVE_INFINITY) + graceMs;
    this.#host = settings;
    this.#isAtPrimary = settings.others.length === 0;
    this.#sql = this.#opened();
    this.orm = this.#ormOn(() => this.#connections(), true);
  }

  get use(): ConnectionUse {
    const { connections: limit } = this.options;
    // Statements within transactions are not counted, but their transactions.
    const sent = [...this.#sent].filter(({ by }) => by === null || !isReserved(by)).length;
    const busy = this.#reserved + sent;
    const inUse = Math.min(busy, limit);
    return { limit, inUse, waiting: busy - inUse, statementSeconds: this.#statementSeconds };
  }

  readonly run = <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    // A boundary: the caller knows the rows of the statement.
    again(() => this.#send(this.#connections(), text, values, false)) as Promise<Row[]>;

  transact<T>(work: (transaction: Queries) => Promise<T>): Promise<T> {
    return again(() => this.#transaction(work));
  }

  async #transaction<T>(work: (transaction: Queries) => Promise<T>): Promise<T> {
    const connection = await this.#reserve();
    this.#reserved++;
    const send = (text: string) => this.#send(connection, text, [], false);
    try {
      await send(this.#begin);
      const result = await work(this.#queriesOn(connection));
      await send("COMMIT");
      return result;
    } catch (error) {
      // The server rolls back by itself when a connection is closed, or after `idle_in_transaction_session_timeout`.
      if (!this.#discarded.has(connection)) await send("ROLLBACK").catch(() => this.#discard(connection));
      throw error;
    } finally {
      this.#reserved--;
      if (!this.#discarded.has(connection)) connection.release();
    }
  }

  /** Takes a connection out of the pool for a transaction. It must be released, or discarded. */
  async #reserve(): Promise<ReservedSQL> {
    this.#refuseIfDown();
    const pool = await this.#connections();
    let isGivenUp = false;
    const { promise, resolve, reject } = Promise.withResolvers<ReservedSQL>();
    const sent = this.#watch(null, (error) => {
      isGivenUp = true;
      reject(error);
    });
    pool.reserve().then(
      (connection) => {
        this.#sent.delete(sent);
        if (isGivenUp) connection.release();
        else resolve(connection);
      },
      (error: unknown) => {
        if (this.#sent.delete(sent)) this.#noteIfDown(error);
        reject(error);
      },
    );
    return promise;
  }

  /** Closes a connection of a transaction. The pool opens another one. */
  #discard(connection: ReservedSQL): void {
    if (this.#discarded.has(connection)) return;
    this.#discarded.add(connection);
    connection.close({ timeout: 0 }).catch(() => {}); // it is no longer used
  }

  async close(): Promise<void> {
    const retired = [...this.#retired].map(([pool, timer]) => {
      clearTimeout(timer);
      return pool.close({ timeout: 0 });
    });
    this.#retired.clear();
    await Promise.all([this.#sql.close({ timeout: closeSeconds }), ...retired]);
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  #queriesOn(sql: Driver): Queries {
    return {
      orm: this.#ormOn(() => sql, false),
      // A boundary: the caller knows the rows of the statement.
      run: <Row>(text: string, values: readonly unknown[] = []) =>
        this.#send(sql, text, values, false) as Promise<Row[]>,
    };
  }

  /** Makes drizzle send its statements as all others are sent. */
  #ormOn(sql: () => Driver | Promise<Driver>, isRepeatable: boolean): Orm {
    const unsafe = (text: string, values: readonly unknown[]) =>
      new Statement((asArrays) => {
        const send = () => this.#send(sql(), text, values, asArrays);
        return isRepeatable ? again(send) : send();
      });
    // A boundary: drizzle uses only `unsafe` of the driver.
    return drizzle({ client: { unsafe } as unknown as SQL });
  }

  #send(
    sql: Driver | Promise<SQL>,
    text: string,
    values: readonly unknown[],
    asArrays: boolean,
  ): Promise<unknown> {
    if (sql instanceof Promise) return sql.then((found) => this.#send(found, text, values, asArrays));
    return new Promise((resolve, reject) => {
      this.#refuseIfDown();
      if (this.#sent.size >= mostWaiting) throw new NotSentError("Too many statements wait for the database");
      const query = sql.unsafe(text, values as unknown[]);
      // Not canceled here, because the server cancels late statements. Canceling a commit that waits for a standby
      // would make it visible without the standby.
      const sent = this.#watch(sql, reject);
      (asArrays ? query.values() : query).then(
        (rows: unknown) => {
          this.#observe(sent);
          this.#answeredAt = performance.now();
          resolve(rows);
        },
        (error: unknown) => {
          // The closing of a silent connection says nothing about the others.
          if (this.#observe(sent) && !this.#discarded.has(sql)) this.#noteIfDown(error);
          reject(error);
        },
      );
    });
  }

  /** Ends the watch of a statement, and counts its time. Returns false if it has ended before. */
  #observe(sent: Sent): boolean {
    const isWatched = this.#sent.delete(sent);
    if (isWatched) observe(this.#statementSeconds, (performance.now() - sent.sentAt) / second, null);
    return isWatched;
  }

  #watch(by: Sent["by"], giveUp: Sent["giveUp"]): Sent {
    const sent: Sent = { sentAt: performance.now(), by, giveUp };
    this.#sent.add(sent);
    if (this.#timer === null) {
      this.#checkedAt = sent.sentAt;
      this.#timer = setInterval(() => this.#endLate(), lateCheckMs).unref();
    }
    return sent;
  }

  /**
   * Rejects statements without a response in time, and replaces all connections when the silent one is unknown. The
   * other statements on the former connections may end; if none got a response, they fail at once.
   */
  #endLate(): void {
    const now = performance.now();
    const sinceLastMs = now - this.#checkedAt;
    this.#checkedAt = now;
    // This process did not run. Responses may have arrived, and are not read yet.
    if (sinceLastMs > 4 * lateCheckMs) return;
    const sentBefore = now - this.#patienceMs;
    const late = [...this.#sent].filter(({ sentAt }) => sentAt < sentBefore);
    for (const one of late) {
      this.#observe(one);
      one.giveUp(new DeadlineError("The database did not answer in time"));
      if (one.by && isReserved(one.by)) this.#discard(one.by);
    }
    if (late.length > 0 && this.#answeredAt < sentBefore) {
      this.#doubtHost();
      this.#connectAnew();
    } else if (late.some(({ by }) => by === this.#sql)) this.#connectAnew(this.#patienceMs);
    if (this.#sent.size > 0 || !this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #opened(): SQL {
    // When connections end, the address may lead to another server, or the server may have become a standby.
    const ended = () => sql === this.#sql && this.#doubtHost();
    const options = this.settings.others.length > 0 ? { ...this.options, ended } : this.options;
    const sql = driver({ ...this.settings, ...this.#host }, options, this.#timeoutMs);
    return sql;
  }

  #doubtHost(): void {
    this.#isAtPrimary = this.settings.others.length === 0;
  }

  /** Returns connections to the primary. With several hosts, searches for it first, and again when in doubt. */
  #connections(): SQL | Promise<SQL> {
    if (this.#isAtPrimary && !this.#seeking) return this.#sql;
    this.#refuseIfDown();
    this.#seeking ??= this.#seek();
    return this.#seeking;
  }

  async #seek(): Promise<SQL> {
    // Set before the search, so that connections that end meanwhile cause another one.
    this.#isAtPrimary = true;
    try {
      const host = await primaryOf(this.settings, { known: this.#host, isPooled: this.options.isPooled });
      if (shownHost(host) !== shownHost(this.#host)) {
        this.#host = host;
        this.#connectAnew();
      }
      return this.#sql;
    } catch (error) {
      this.#doubtHost();
      this.#noteIfDown(error);
      throw error;
    } finally {
      this.#seeking = null;
    }
  }

  /** Replaces all connections. Statements in progress on the former ones fail after `leftMs`. */
  #connectAnew(leftMs = second): void {
    const former = this.#sql;
    this.#sql = this.#opened();
    const close = () => {
      this.#retired.delete(former);
      former.close({ timeout: 0 }).catch(() => {}); // it is no longer used
    };
    this.#retired.set(former, setTimeout(close, leftMs).unref());
  }

  #noteIfDown(error: unknown): void {
    // A server that refuses writes may be a former primary, and the address may lead to another server by now.
    if (isReadOnly(error) && !this.options.isReader && performance.now() > this.#downUntil) {
      this.#downBy = error;
      this.#downUntil = performance.now() + downMs;
      this.#doubtHost();
      this.#connectAnew();
      return;
    }
    if (!isUnreachable(error)) {
      this.#answeredAt = performance.now();
      return;
    }
    this.#doubtHost();
    this.#downBy = error;
    this.#downUntil = performance.now() + downMs * (0.5 + Math.random());
  }

  /** Fails at once after a failed connection, so that not every request tries to connect. */
  #refuseIfDown(): void {
    if (performance.now() < this.#downUntil) throw this.#downBy;
  }
}

function isReserved(by: Driver): by is ReservedSQL {
  return "release" in by;
}

/** A statement as drizzle awaits it. It runs at the first `then`; before that, `values` may request rows as arrays. */
class Statement implements PromiseLike<unknown> {
  #asArrays = false;
  constructor(readonly send: (asArrays: boolean) => Promise<unknown>) {}

  values(): this {
    this.#asArrays = true;
    return this;
  }

  // biome-ignore lint/suspicious/noThenProperty: drizzle awaits it
  then<A, B>(
    resolved?: ((rows: unknown) => A | PromiseLike<A>) | null,
    rejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): PromiseLike<A | B> {
    return this.send(this.#asArrays).then(resolved, rejected);
  }
}

async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attempts || !isConflictOfWork(error)) throw error;
      await Bun.sleep(Math.random() * 2 ** attempt);
    }
  }
}
