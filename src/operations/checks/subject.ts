import { accessSync, constants, existsSync, type Stats, statSync } from "node:fs";
import { DeprecatedUse } from "../../domain/deprecations.ts";
import { messageOf } from "../../domain/errors.ts";
import type { Finding, findingsOf } from "../../domain/findings.ts";
import type { DatabaseFacts, KindSizes } from "../../domain/sizes.ts";
import { urlOf } from "../../runtime/client-address.ts";
import type { Config } from "../../server/settings/config.ts";
import type { Environment } from "../../server/settings/read-config.ts";
import type { DatabaseStorage } from "../../store/data-storage.ts";
import { type DatabaseSettings, locationOf } from "../../store/location.ts";
import { becomeOwner, databaseIn, holderOf } from "../../store/sqlite/directory.ts";
import { inspect, type SchemaState, schemaState } from "../../store/sqlite/open.ts";
import { databaseFacts, type FileFacts } from "../../store/sqlite/sizes.ts";
import { factsInThread, type Pages, readPages } from "./database-thread.ts";
import { ask, type ClientCertificate, isLoopback, type ServerAnswer } from "./requests.ts";

/*
 * The form of a check, and its subject: settings and the state of a server. What several checks need is read once, when
 * the first of them needs it.
 */

/** Where a check runs: in `onair config check`, in a server on itself, in `onair doctor`. */
export type Place = "config" | "server" | "doctor";

/** A check. It changes nothing. */
export interface Check {
  /** The name of its findings. */
  readonly name: string;
  /** What the check examines, in one sentence. */
  readonly examines: string;
  readonly places: readonly Place[];
  /** Yields results, with the way to mend what is wrong; nothing where the check does not apply. */
  run(subject: Subject, say: ReturnType<typeof findingsOf>): Iterable<Finding> | AsyncIterable<Finding>;
}

export interface SubjectOptions {
  readonly place: Place;
  readonly config: Config;
  /** The mistakes in the settings, from `checkConfig`. */
  readonly mistakes?: readonly string[];
  /** The environment, checked for misspelt variables. */
  readonly env: Environment;
  /** Paths of the files with secret settings. */
  readonly secretFiles: readonly string[];
  /** The URL of `database-worker.ts`. */
  readonly program: string;
  /** Returns the data in a database. */
  readonly databaseAt: (database: DatabaseSettings) => Promise<DatabaseStorage>;
  readonly now: () => number;
  /** What is deprecated, and the requests of a running server that use it; by default the table of this version. */
  readonly deprecated?: DeprecatedUse;
  /** The options of `onair doctor`. */
  readonly doctor?: DoctorOptions;
}

/** The options of `onair doctor`. */
interface DoctorOptions {
  /** The admin URL given by `--url`; null for the one in the settings. */
  readonly url: string | null;
  /** The client certificate for the admin listener; null for none. */
  readonly certificate: ClientCertificate | null;
  /** Whether to check the data directory or the database. */
  readonly withData: boolean;
  /** Whether to send requests to the public URL and to storage in the network. */
  readonly reach: boolean;
  readonly full: boolean;
  /** The time limit for reading pages; Infinity for none. */
  readonly integrityTimeoutMs: number;
}

const noOptions: DoctorOptions = {
  url: null,
  certificate: null,
  withData: true,
  reach: false,
  full: false,
  integrityTimeoutMs: 0,
};

/** How a data directory can be used by this process. */
export type DirectoryUse =
  | "out of reach"
  | "missing"
  | "not a directory"
  | "read-only"
  | "not writable"
  | "without a database"
  | "usable";

/** The state of a database file. `facts` are known if the file has the schema of this version. */
interface FileState {
  /** null where the schema is not read: a server has checked it at its start. */
  readonly schema: SchemaState | null;
  readonly facts: FileFacts | null;
  /** Why the schema, or else the facts, cannot be read. */
  readonly problem: string | null;
}

/**
 * The state of a PostgreSQL database. All but the schema is known if the database has the schema of this version.
 */
interface PostgresState {
  readonly schema: Awaited<ReturnType<DatabaseStorage["schema"]>> | null;
  readonly facts: Awaited<ReturnType<DatabaseStorage["facts"]>>["facts"] | null;
  readonly kinds: KindSizes | null;
  readonly writable: Awaited<ReturnType<DatabaseStorage["writableHosts"]>>;
  /** Why the database cannot be read. */
  readonly problem: string | null;
}

/** The settings and the state that checks examine. */
export class Subject {
  readonly place: Place;
  readonly config: Config;
  readonly mistakes: readonly string[];
  readonly env: Environment;
  readonly secretFiles: readonly string[];
  readonly program: string;
  readonly doctor: DoctorOptions;
  readonly now: () => number;
  readonly deprecated: DeprecatedUse;
  /** The data directory to check; null without one. */
  readonly directory: string | null;
  /** The PostgreSQL database to check; null without one. */
  readonly database: DatabaseSettings | null;
  readonly #databaseAt: SubjectOptions["databaseAt"];

  constructor({ mistakes = [], doctor = noOptions, ...options }: SubjectOptions) {
    this.place = options.place;
    this.config = options.config;
    this.mistakes = mistakes;
    this.env = options.env;
    this.secretFiles = options.secretFiles;
    this.program = options.program;
    this.doctor = doctor;
    this.now = options.now;
    this.deprecated = options.deprecated ?? new DeprecatedUse();
    this.#databaseAt = options.databaseAt;
    const location = doctor.withData ? locationOf(options.config) : null;
    this.directory = location && "directory" in location ? location.directory : null;
    this.database = location && "database" in location ? location.database : null;
  }

  #use: DirectoryUse | undefined;

  /** How the data directory can be used. */
  get use(): DirectoryUse {
    this.#use ??= useOf(this.directory ?? "");
    return this.#use;
  }

  /** The data directory, if this process can read it; else null. */
  async openDirectory(): Promise<string | null> {
    if (this.directory === null) return null;
    const isOpen =
      this.place === "server"
        ? (await this.file())?.facts !== null
        : this.use === "usable" || this.use === "without a database";
    return isOpen ? this.directory : null;
  }

  #holder: ReturnType<typeof holderOf> | undefined;

  /** The process that uses the data directory; null without one. */
  get holder(): ReturnType<typeof holderOf> {
    if (this.#holder === undefined) this.#holder = holderOf(this.directory ?? "");
    return this.#holder;
  }

  #pages: Pages | null = null;

  /** Reads of the pages of a database file; null without one. */
  get pages(): Pages | null {
    const { directory, program, doctor } = this;
    if (directory === null || this.use !== "usable") return null;
    this.#pages ??= readPages(program, { data: directory, full: doctor.full }, doctor.integrityTimeoutMs);
    return this.#pages;
  }

  /** Whether the check of the pages found all of them intact. */
  isIntact = false;

  /** Whether the check of the pages found the file unreadable or damaged: later checks need not say so again. */
  isDamaged = false;

  #file: Promise<FileState | null> | undefined;

  /** The state of the database file; null without one. */
  file(): Promise<FileState | null> {
    this.#file ??= this.#readFile();
    return this.#file;
  }

  async #readFile(): Promise<FileState | null> {
    const { directory, place, program } = this;
    if (directory === null || (place !== "server" && this.use !== "usable")) return null;
    let schema: SchemaState | null = null;
    try {
      if (place === "server")
        return { schema, facts: await factsInThread(program, directory), problem: null };
      schema = inspect(directory, schemaState);
      const facts = schema.pending.length > 0 ? null : inspect(directory, databaseFacts);
      return { schema, facts, problem: null };
    } catch (error) {
      return { schema, facts: null, problem: messageOf(error) };
    }
  }

  #postgres: Promise<PostgresState | null> | undefined;

  /** The state of the PostgreSQL database; null without one. */
  postgres(): Promise<PostgresState | null> {
    this.#postgres ??= this.#readPostgres();
    return this.#postgres;
  }

  async #readPostgres(): Promise<PostgresState | null> {
    if (this.database === null) return null;
    const unknown = { schema: null, facts: null, kinds: null, writable: null, problem: null };
    try {
      const storage = await this.#databaseAt(this.database);
      const schema = await storage.schema();
      if (schema.pending.length > 0) return { ...unknown, schema };
      const writable = await storage.writableHosts();
      return { schema, ...(await storage.facts()), writable, problem: null };
    } catch (error) {
      return { ...unknown, problem: messageOf(error) };
    }
  }

  /** The facts of the database, in a file or in PostgreSQL; null where they are unknown. */
  async facts(): Promise<DatabaseFacts | null> {
    const state = (await this.file()) ?? (await this.postgres());
    return state?.facts ?? null;
  }

  /** The URLs of the listeners by the settings. */
  get listeners(): { readonly open: string; readonly admin: string } {
    const { host, port, tlsCert, adminHost, adminPort, adminTlsCert } = this.config;
    return {
      open: urlOf(host, port, tlsCert !== null),
      admin: urlOf(adminHost, adminPort, adminTlsCert !== null),
    };
  }

  #served: Promise<boolean | null> | undefined;

  /** Whether a server with the settings runs on this machine; null where that is not known. */
  isServed(): Promise<boolean | null> {
    this.#served ??= this.#lookForServer();
    return this.#served;
  }

  async #lookForServer(): Promise<boolean | null> {
    const { doctor, config, directory, database } = this;
    if (directory !== null) return (await this.openDirectory()) === null ? null : this.holder !== null;
    if (database === null || doctor.url !== null) return null;
    if (!isLoopback(config.adminHost)) return false;
    // The database does not show which server uses it.
    return typeof (await ask(`${this.listeners.admin}/healthz`, doctor)) !== "string";
  }

  #findings: Promise<ServerAnswer | string | null> | undefined;

  /** The answer of the server of `--url` with its own findings, or why there is none; null without operator key. */
  serverFindings(): Promise<ServerAnswer | string | null> {
    const { url, certificate } = this.doctor;
    const { adminKey } = this.config;
    if (url === null || adminKey === null) return Promise.resolve(null);
    const headers = { authorization: `Bearer ${adminKey}` };
    this.#findings ??= ask(`${url}/admin/v1/findings`, { headers, certificate });
    return this.#findings;
  }

  /** Ends the threads that checks have started. */
  end(): void {
    this.#pages?.end();
  }
}

function useOf(directory: string): DirectoryUse {
  // The results are those of the server's user.
  becomeOwner(directory);
  const stats = statsOf(directory);
  if (stats === "out of reach") return "out of reach";
  if (stats === null) return "missing";
  if (!stats.isDirectory()) return "not a directory";
  const refusal = refusalOf(directory);
  if (refusal !== null) return refusal === "EROFS" ? "read-only" : "not writable";
  return existsSync(databaseIn(directory)) ? "usable" : "without a database";
}

/** Reads the state of a path: null for none, `out of reach` if a part of it is no directory or not accessible. */
export function statsOf(path: string): Stats | null | "out of reach" {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return "out of reach";
  }
}

/** Returns the error code of accessing a directory for reading and writing; null when this user has access. */
function refusalOf(directory: string): string | null {
  const { R_OK, W_OK, X_OK } = constants;
  try {
    accessSync(directory, R_OK | W_OK | X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  }
}
