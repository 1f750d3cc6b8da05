import { ElysiaCustomStatusResponse } from "elysia";
import { auditMergeKey, type NewAuditEntry } from "../../../domain/operations/audit.ts";
import type { OperatorKey, Role } from "../../../domain/operator-keys.ts";
import { second } from "../../../domain/time.ts";
import { errorFields, type Log } from "../../../log/log.ts";
import type { Store } from "../../../store/store.ts";
import type { RequestContext } from "../../request-context.ts";

/** Counted changes are written at most this often, but for the first. */
const writeEveryMs = second;
/** Counted changes that are known to have an entry, at most; then they are forgotten, and written once more. */
const mostBegun = 1_000;
/** Fields of a body that an entry names at most. */
const maxFields = 30;

/** Reads that are noted like changes: they hand out every secret. */
const notedReads: ReadonlySet<string> = new Set(["getBackupContent"]);

/** What a route says of itself. */
interface AuditedRoute {
  readonly operationId: string;
  readonly allowed: readonly Role[];
}

/** A request that a route has answered with success. */
interface AnsweredRequest {
  readonly requestContext: RequestContext;
  readonly params: unknown;
  readonly body: unknown;
  /** What its handler gave. */
  readonly value: unknown;
}

/** Equal changes, of which there are more until they are written. */
type Counted = { -readonly [Field in keyof NewAuditEntry]: NewAuditEntry[Field] };

interface AuditTrailOptions {
  readonly store: Pick<Store, "audit">;
  readonly log: Log;
  readonly now: () => number;
  /** Called with what has changed: `audit`, and what the entry is about, like `applications`. */
  readonly changed?: (topic: string) => void;
}

/**
 * Writes down who changed what through the admin API, before the change is acknowledged. Changes of the platform's data,
 * events and answers to login requests come many at a time: they are counted by key, action and hour. The first is written
 * at once, so that entries are stored in the order in which they begin.
 */
export class AuditTrail {
  readonly #options: AuditTrailOptions;
  readonly #begun = new Set<string>();
  #counted = new Map<string, Counted>();
  #timer: Timer | null = null;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
  }

  /** Notes a successful request of a key, unless it only read. Never rejects: the change is made, and the log tells. */
  async note(route: AuditedRoute, key: OperatorKey, request: AnsweredRequest): Promise<void> {
    const { operationId } = route;
    const { method } = request.requestContext;
    if ((method === "GET" || method === "HEAD") && !notedReads.has(operationId)) return;
    if (method === "HEAD") return;
    const at = this.#options.now();
    const { requestContext } = request;
    const isCounted = route.allowed.includes("publisher") || requestContext.path.includes("/login-requests/");
    const entry: NewAuditEntry = {
      at,
      last_at: at,
      count: 1,
      actor_kind: "operator_key",
      actor_id: key.id,
      actor_name: key.name,
      action: operationId,
      object: requestContext.path.split("/")[3] ?? "",
      object_id: isCounted ? null : objectId(request),
      fields: isCounted ? [] : fieldsOf(request.body),
      address: requestContext.clientAddress,
      request_id: requestContext.requestId,
    };
    if (isCounted) await this.#count(entry);
    else {
      await this.#write(() => this.#options.store.audit.add(entry));
      this.#tell([entry]);
    }
  }

  /** Writes what was counted. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const entries = [...this.#counted.values()];
    this.#counted = new Map();
    if (entries.length > 0) await this.#writeCounted(entries);
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
    this.#timer ??= setTimeout(() => void this.flush(), writeEveryMs).unref();
  }

  async #writeCounted(entries: readonly Counted[]): Promise<void> {
    await this.#write(() => this.#options.store.audit.count(entries));
    this.#tell(entries);
  }

  /** Tells what entries are about; a session of the console has no object. */
  #tell(entries: readonly NewAuditEntry[]): void {
    for (const object of new Set(entries.map((entry) => entry.object)))
      if (object !== "") this.#options.changed?.(object);
  }

  async #write(write: () => Promise<void>): Promise<void> {
    try {
      await write();
      this.#options.changed?.("audit");
    } catch (error) {
      this.#options.log.error("audit_failed", errorFields(error));
    }
  }
}

/** The id of what was changed: from the path, else what the answer names. */
function objectId({ params, value }: AnsweredRequest): string | null {
  const { id, name, channel_id } = (params ?? {}) as Record<string, unknown>;
  const answered = value instanceof ElysiaCustomStatusResponse ? value.response : value;
  const made = typeof answered === "object" && answered !== null && "id" in answered ? answered.id : null;
  const found = id ?? name ?? channel_id ?? made;
  return typeof found === "string" || typeof found === "number" ? String(found) : null;
}

/** The names of the fields of a body, whose values may be secrets. */
function fieldsOf(body: unknown): string[] {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return [];
  return Object.keys(body).slice(0, maxFields);
}
