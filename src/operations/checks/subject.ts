import { accessSync, constants, existsSync, type Stats, statSync } from "node:fs";
import { DeprecatedUse } from "../../domain/deprecations.ts";
import { messageOf } from "../../domain/errors.ts";
import type { Finding, findingsOf } from "../../domain/findings.ts";
import type { DatabaseFacts, KindSizes } from "../../domain/sizes.ts";
import { urlOf } from "../../runtime/client-address.ts";
import { ScarceDescriptors } from "../../runtime/descriptors.ts";
import { lazily } from "../../runtime/lazily.ts";
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
  /** Whether the problem is none of the file, which is read when there are descriptors for it. */
  readonly isPostponed?: boolean;
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

/** What checks examine beside the settings. Each is read when the first check needs it. */
interface State {
  /** How the data directory can be used. */
  readonly use: DirectoryUse;
  /** The data directory, if this process can read it; else null. */
  readonly openDirectory: Promise<string | null>;
  /** The process that uses the data directory; null without one. */
  readonly holder: ReturnType<typeof holderOf>;
  /** Reads of the pages of a database file; null without one. */
  readonly pages: Pages | null;
  /** The state of the database file; null without one. */
  readonly file: Promise<FileState | null>;
  /** The state of the PostgreSQL database; null without one. */
  readonly postgres: Promise<PostgresState | null>;
  /** The facts of the database, in a file or in PostgreSQL; null where they are unknown. */
  readonly facts: Promise<DatabaseFacts | null>;
  /** The URLs of the listeners by the settings. */
  readonly listeners: { readonly open: string; readonly admin: string };
  /** Whether a server with the settings runs on this machine; null where that is not known. */
  readonly isServed: Promise<boolean | null>;
  /** The answer of the server of `--url` with its own findings, or why there is none; null without operator key. */
  readonly serverFindings: Promise<ServerAnswer | string | null>;
}

/** The settings and the state that checks examine. */
export type Subject = State &
  ReturnType<typeof settingsOf> & {
    /** Ends the threads that checks have started. */
    end(): void;
  };

/** What checks examine at once, and what they note for the following checks. */
function settingsOf({ mistakes = [], doctor = noOptions, ...options }: SubjectOptions) {
  const location = doctor.withData ? locationOf(options.config) : null;
  return {
    ...options,
    mistakes,
    doctor,
    deprecated: options.deprecated ?? new DeprecatedUse(),
    /** The data directory to check; null without one. */
    directory: location && "directory" in location ? location.directory : null,
    /** The PostgreSQL database to check; null without one. */
    database: location && "database" in location ? location.database : null,
    /** Whether the check of the pages found all of them intact. */
    isIntact: false,
    /** Whether the check of the pages found the file unreadable or damaged: later checks need not say so again. */
    isDamaged: false,
  };
}

/** Returns the subject of the checks in one place. Call `end` after the last of them. */
export function subjectOf(options: SubjectOptions): Subject {
  const settings = settingsOf(options);
  const { place, config, directory, database, doctor, program } = settings;
  let started: Pages | null = null;
  const state: State = lazily<State>({
    use: () => useOf(directory ?? ""),
    async openDirectory() {
      if (directory === null) return null;
      const isOpen =
        place === "server"
          ? (await state.file)?.facts !== null
          : state.use === "usable" || state.use === "without a database";
      return isOpen ? directory : null;
    },
    holder: () => holderOf(directory ?? ""),
    pages() {
      if (directory === null || state.use !== "usable") return null;
      started = readPages(program, { data: directory, full: doctor.full }, doctor.integrityTimeoutMs);
      return started;
    },
    file: () => fileState(settings, state),
    postgres: () => postgresState(settings),
    facts: async () => ((await state.file) ?? (await state.postgres))?.facts ?? null,
    listeners() {
      const { host, port, tlsCert, adminHost, adminPort, adminTlsCert } = config;
      return {
        open: urlOf(host, port, tlsCert !== null),
        admin: urlOf(adminHost, adminPort, adminTlsCert !== null),
      };
    },
    async isServed() {
      if (directory !== null) return (await state.openDirectory) === null ? null : state.holder !== null;
      if (database === null || doctor.url !== null) return null;
      if (!isLoopback(config.adminHost)) return false;
      // The database does not show which server uses it.
      return typeof (await ask(`${state.listeners.admin}/healthz`, doctor)) !== "string";
    },
    async serverFindings() {
      const { url, certificate } = doctor;
      if (url === null || config.adminKey === null) return null;
      return ask(`${url}/admin/v1/findings`, {
        headers: { authorization: `Bearer ${config.adminKey}` },
        certificate,
      });
    },
  });
  return Object.assign(state, settings, { end: () => started?.end() });
}

async function fileState(
  { directory, place, program }: ReturnType<typeof settingsOf>,
  state: State,
): Promise<FileState | null> {
  if (directory === null || (place !== "server" && state.use !== "usable")) return null;
  let schema: SchemaState | null = null;
  try {
    if (place === "server") return { schema, facts: await factsInThread(program, directory), problem: null };
    schema = inspect(directory, schemaState);
    const facts = schema.pending.length > 0 ? null : inspect(directory, databaseFacts);
    return { schema, facts, problem: null };
  } catch (error) {
    const isPostponed = error instanceof ScarceDescriptors;
    return { schema, facts: null, problem: messageOf(error), isPostponed };
  }
}

async function postgresState({
  database,
  databaseAt,
}: ReturnType<typeof settingsOf>): Promise<PostgresState | null> {
  if (database === null) return null;
  const unknown = { schema: null, facts: null, kinds: null, writable: null, problem: null };
  try {
    const storage = await databaseAt(database);
    const schema = await storage.schema();
    if (schema.pending.length > 0) return { ...unknown, schema };
    const writable = await storage.writableHosts();
    return { schema, ...(await storage.facts()), writable, problem: null };
  } catch (error) {
    return { ...unknown, problem: messageOf(error) };
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
