import { ElysiaCustomStatusResponse } from "elysia";
import { auditMergeKey, type NewAuditEntry, newAuditEntry } from "../../domain/audit.ts";
import type { OperatorKey, Role } from "../../domain/operator-keys.ts";
import type { Store } from "../../domain/store.ts";
import { hour, second } from "../../domain/time.ts";
import type { Log } from "../../runtime/log.ts";
import type { RequestContext } from "../http/context.ts";

/** The least time between two writes of counted changes; the first one is written at once. */
const writeEveryMs = second;
/** How much later the next write is for each entry of the last one: at most ten entries a second are written. */
const writeEachEveryMs = second / 10;
/** The maximum number of counted changes known to have an entry. When exceeded, all are forgotten and written again. */
const mostBegun = 1_000;
/** The maximum number of body fields in an entry. */
const maxFields = 30;
/**
 * The most entries with names for each operation by one key in one hour: each is about a change of a single user,
 * category, channel or livestream, or about the events of one type and channel. Further changes are counted without
 * names, so that a program cannot fill the log.
 */
const maxNamedEntries = 100;

/** Reads that are recorded like changes, because they reveal every secret. */
const notedReads: ReadonlySet<string> = new Set(["getBackupContent"]);
/** Requests by POST that change nothing. */
const readsByPost: ReadonlySet<string> = new Set(["testFilter", "previewEvent"]);

/** Whether equal changes by an operation are counted, also those with names: each event is another object. */
const isRepeated = (operationId: string): boolean => operationId === "publishEvents";

/** The facts about a route that an entry needs. */
interface AuditedRoute {
  readonly operationId: string;
  readonly allowed: readonly Role[];
}

/** A request that succeeded. */
interface AnsweredRequest {
  readonly requestContext: RequestContext;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  /** The value that the handler returned. */
  readonly value: unknown;
}

/** Equal changes, counted until they are written. */
type Counted = { -readonly [Field in keyof NewAuditEntry]: NewAuditEntry[Field] };

interface AuditTrailOptions {
  readonly store: Pick<Store, "audit">;
  readonly log: Log;
  readonly now: () => number;
  /** Called with the topics that have changed: `audit`, and the kind of object, such as `applications`. */
  readonly changed?: (topic: string) => void;
  /** Calls `work` after some time, unless the process ends before. Returns a function that cancels that. */
  readonly after?: (ms: number, work: () => void) => () => void;
}

const byTimer: NonNullable<AuditTrailOptions["after"]> = (ms, work) => {
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
};

/**
 * Records changes made through the admin API and their callers, before they are acknowledged. Changes of the platform's
 * data, events and answers to login requests are frequent, so they are counted by key, action and hour. The first one
 * is written at once, so that entries are stored in the order of their first change. Two kinds have an entry each: a
 * snapshot of livestreams, which can end many of them, and a change of a single record by an operator, with its values.
 * Single events of an operator are counted by type and channel, too.
 */
export class AuditTrail {
  readonly #options: AuditTrailOptions;
  readonly #begun = new Set<string>();
  #counted = new Map<string, Counted>();
  /** The hour and number of its entries with names, by key and operation. */
  readonly #namedEntries = new Map<string, { readonly hour: number; count: number }>();
  #cancelWrite: (() => void) | null = null;
  /** The number of entries in the last write of counted changes. */
  #lastWritten = 0;
  /** The writes of counted changes in progress. */
  #writing: Promise<void> = Promise.resolve();

  constructor(options: AuditTrailOptions) {
    this.#options = options;
  }

  /**
   * Records a successful request, unless it only read. Never rejects, because the change is stored; failures are
   * logged.
   */
  async note(route: AuditedRoute, key: OperatorKey, request: AnsweredRequest): Promise<void> {
    const { operationId } = route;
    const { method } = request.requestContext;
    if ((method === "GET" || method === "HEAD") && !notedReads.has(operationId)) return;
    if (method === "HEAD" || readsByPost.has(operationId)) return;
    const at = this.#options.now();
    const { requestContext } = request;
    const { path, change } = requestContext;
    const isFrequent = route.allowed.includes("publisher") || path.includes("/login-requests/");
    const snapshot = operationId === "putLivestreams" ? snapshotCounts(request) : null;
    const counted = newAuditEntry({
      at,
      actor_kind: "operator_key",
      actor_id: key.id,
      actor_name: key.name,
      action: operationId,
      object: path.split("/")[3] ?? "",
      address: requestContext.clientAddress,
      request_id: requestContext.requestId,
      ...snapshot,
    });
    if (snapshot) return this.#add(counted);
    const named = { ...counted, ...change };
    if (change && isRepeated(operationId) && this.#isBegun(named)) return this.#count(named);
    if (isFrequent && !(change && this.#isNamed(key, operationId, at))) return this.#count(counted);
    if (isRepeated(operationId)) return this.#count(named);
    return this.#add({ ...named, object_id: objectId(request), fields: fieldsOf(request.body) });
  }

  /** Writes the counted changes. Resolves when they and those of former calls are written, or the log says why not. */
  async flush(): Promise<void> {
    this.#cancelWrite?.();
    this.#cancelWrite = null;
    const entries = [...this.#counted.values()];
    this.#counted = new Map();
    this.#lastWritten = entries.length;
    if (entries.length > 0) {
      const former = this.#writing;
      this.#writing = this.#writeCounted(entries).then(() => former);
    }
    await this.#writing;
  }

  /** Whether a single change by a key has an entry with its names. Those of publishers are counted without names. */
  #isNamed({ id: keyId, role }: OperatorKey, operationId: string, at: number): boolean {
    if (role !== "operator") return false;
    const current = Math.floor(at / hour);
    const id = `${keyId} ${operationId}`;
    const known = this.#namedEntries.get(id);
    const own = known?.hour === current ? known : { hour: current, count: 0 };
    // Keys come and go, so the map is emptied with each hour.
    if (own !== known) {
      for (const [other, { hour: of }] of this.#namedEntries)
        if (of !== current) this.#namedEntries.delete(other);
      this.#namedEntries.set(id, own);
    }
    return ++own.count <= maxNamedEntries;
  }

  #isBegun(entry: NewAuditEntry): boolean {
    return this.#begun.has(auditMergeKey(entry));
  }

  async #add(entry: NewAuditEntry): Promise<void> {
    await this.#write(() => this.#options.store.audit.add(entry));
    this.#tell([entry]);
  }

  async #count(entry: NewAuditEntry): Promise<void> {
    const key = auditMergeKey(entry);
    if (!this.#begun.has(key)) {
      if (this.#begun.size >= mostBegun) this.#begun.clear();
      this.#begun.add(key);
      return this.#writeCounted([entry]);
    }
    const known = this.#counted.get(key);
    if (known) {
      known.count++;
      known.last_at = entry.at;
      known.request_id = entry.request_id;
    } else this.#counted.set(key, entry);
    const waitMs = Math.max(writeEveryMs, this.#lastWritten * writeEachEveryMs);
    this.#cancelWrite ??= (this.#options.after ?? byTimer)(waitMs, () => void this.flush());
  }

  async #writeCounted(entries: readonly Counted[]): Promise<void> {
    await this.#write(() => this.#options.store.audit.count(entries));
    this.#tell(entries);
  }

  /** Reports the kinds of objects that have changed. A session of the console has no object. */
  #tell(entries: readonly NewAuditEntry[]): void {
    for (const object of new Set(entries.map((entry) => entry.object)))
      if (object !== "") this.#options.changed?.(object);
  }

  async #write(write: () => Promise<void>): Promise<void> {
    try {
      await write();
      this.#options.changed?.("audit");
    } catch (error) {
      this.#options.log.failure("audit_failed", error);
    }
  }
}

/** Returns the id of the changed object: from the path, else from the response. */
function objectId({ params, value }: AnsweredRequest): string | null {
  const { id, name, channel_id } = (params ?? {}) as Record<string, unknown>;
  const answered = value instanceof ElysiaCustomStatusResponse ? value.response : value;
  const made = typeof answered === "object" && answered !== null && "id" in answered ? answered.id : null;
  const found = id ?? name ?? channel_id ?? made;
  return typeof found === "string" || typeof found === "number" ? String(found) : null;
}

/** Returns the counts of a report of livestreams that is a snapshot; null for any other report. */
function snapshotCounts({ query, value }: AnsweredRequest): Pick<NewAuditEntry, "accepted" | "ended"> | null {
  if ((query as { readonly snapshot?: unknown } | null)?.snapshot !== "true") return null;
  const { accepted, ended } = value as Pick<NewAuditEntry, "accepted" | "ended">;
  return { accepted, ended };
}

/**
 * Returns the names of a body's fields, without values, which may be secrets. A body may name fields that do not exist.
 * NUL is replaced, because PostgreSQL cannot store it in a text.
 */
function fieldsOf(body: unknown): string[] {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return [];
  const names = Object.keys(body).slice(0, maxFields);
  return names.map((name) => name.replaceAll("\0", "\ufffd"));
}
