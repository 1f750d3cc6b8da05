import type { SQL } from "bun";
import { type BunSQLDatabase, drizzle } from "drizzle-orm/bun-sql";
import { second } from "../../../domain/time.ts";
import { type ConnectionSettings, type Host, shownHost } from "./connection-url.ts";
import { driver, type PoolOptions } from "./driver.ts";
import { DeadlineError, isConflictOfWork, isReadOnly, isUnreachable } from "./faults.ts";
import { primaryOf } from "./primary.ts";

/** drizzle on a pool or on the connection of a transaction. */
type Orm = BunSQLDatabase;

/** Runs statements, on a pool of connections or on the connection of a transaction. */
export interface Queries {
  readonly orm: Orm;
  /** Runs a statement with parameters `$1`, `$2`, …; prepared once on each connection. */
  run<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A pool of connections to a database. Statements are pipelined. */
export interface Postgres extends Queries {
  /**
   * Runs work in a transaction, which is rolled back if it rejects. After a deadlock or a serialization failure, `work`
   * is called again in a new transaction, a few times at most.
   */
  transact<T>(work: (transaction: Queries) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const defaultTimeoutMs = 10 * second;
/** The server itself ends statements at the timeout. If it has not responded this long after it, it is unreachable. */
const graceMs = 2 * second;
/** The most statements in progress. Further ones are refused at once. */
const mostWaiting = 10_000;
/** How often work is tried that conflicts with other transactions. The pauses become longer. */
const attempts = 8;
/** After a failed connection attempt, statements fail at once for this time. */
const downMs = 250;

/** The driver's pool, or its connection for a transaction. */
type Driver = Pick<SQL, "unsafe">;

/** Makes a pool. It connects on demand, so an unreachable database is only noticed with the first statement. */
export function openPool(settings: ConnectionSettings, options: PoolOptions): Postgres {
  return new DriverPool(settings, options);
}

/** A statement in progress, or the beginning or end of a transaction. */
interface Sent {
  sentAt: number;
  giveUp(error: Error): void;
}

class DriverPool implements Postgres {
  readonly orm: Orm;
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
  readonly #sent = new Set<Sent>();
  readonly #timeoutMs: number;

  constructor(
    readonly settings: ConnectionSettings,
    readonly options: PoolOptions,
  ) {
    this.#timeoutMs = options.statementTimeoutMs ?? defaultTimeoutMs;
    this.#host = settings;
    this.#isAtPrimary = settings.others.length === 0;
    this.#sql = this.#opened();
    this.orm = this.#ormOn(() => this.#connections(), true);
  }

  readonly run = <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    // A boundary: the caller knows the rows of the statement.
    again(() => this.#send(this.#connections(), text, values, false)) as Promise<Row[]>;

  transact<T>(work: (transaction: Queries) => Promise<T>): Promise<T> {
    return again(() => this.#transaction(work));
  }

  async #transaction<T>(work: (transaction: Queries) => Promise<T>): Promise<T> {
    this.#refuseIfDown();
    const connections = this.#connections();
    const pool = connections instanceof Promise ? await connections : connections;
    const late = Promise.withResolvers<never>();
    let isGivenUp = false;
    const sent: Sent = {
      sentAt: 0,
      giveUp(error) {
        isGivenUp = true;
        late.reject(error);
      },
    };
    this.#watch(sent);
    const done = pool.begin(async (sql) => {
      // It may have waited so long for a connection that its caller has given up.
      if (isGivenUp) throw new DeadlineError("The database did not answer in time");
      this.#sent.delete(sent);
      const result = await work(this.#queriesOn(sql));
      this.#watch(sent);
      return result;
    });
    try {
      return await Promise.race([done, late.promise]);
    } catch (error) {
      done.catch(() => {}); // after a deadline, the caller already has that error
      this.#noteIfDown(error);
      throw error;
    } finally {
      this.#sent.delete(sent);
    }
  }

  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    await this.#sql.close({ timeout: 5 });
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
    sql: Driver | Promise<Driver>,
    text: string,
    values: readonly unknown[],
    asArrays: boolean,
  ): Promise<unknown> {
    if (sql instanceof Promise) return sql.then((found) => this.#send(found, text, values, asArrays));
    return new Promise((resolve, reject) => {
      this.#refuseIfDown();
      if (this.#sent.size >= mostWaiting)
        throw new DeadlineError("Too many statements wait for the database");
      const query = sql.unsafe(text, values as unknown[]);
      // Not canceled here, because the server cancels late statements. Canceling a commit that waits for a standby
      // would make it visible without the standby.
      const sent: Sent = { sentAt: 0, giveUp: reject };
      this.#watch(sent);
      (asArrays ? query.values() : query).then(
        (rows: unknown) => {
          this.#sent.delete(sent);
          this.#answeredAt = performance.now();
          resolve(rows);
        },
        (error: unknown) => {
          this.#sent.delete(sent);
          this.#noteIfDown(error);
          reject(error);
        },
      );
    });
  }

  #watch(sent: Sent): void {
    sent.sentAt = performance.now();
    this.#sent.add(sent);
    this.#timer ??= setInterval(() => this.#endLate(), second / 2).unref();
  }

  /** Rejects statements without a response in time. If no statement got a response, it replaces all connections. */
  #endLate(): void {
    const sentBefore = performance.now() - (this.#timeoutMs || Number.POSITIVE_INFINITY) - graceMs;
    const late = [...this.#sent].filter(({ sentAt }) => sentAt < sentBefore);
    for (const one of late) {
      this.#sent.delete(one);
      one.giveUp(new DeadlineError("The database did not answer in time"));
    }
    if (late.length > 0 && this.#answeredAt < sentBefore) {
      this.#doubtHost();
      this.#connectAnew();
    }
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

  /** Replaces all connections. Statements in progress on the former ones fail. */
  #connectAnew(): void {
    const former = this.#sql;
    this.#sql = this.#opened();
    former.close({ timeout: 1 }).catch(() => {}); // it is no longer used
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
