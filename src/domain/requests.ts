import { hour } from "./time.ts";

/** The requests of an hour. */
export interface RequestHour {
  /** When the hour began, in milliseconds since the epoch. */
  readonly at: number;
  /** Counts by operation and status, like `getUser 200`. */
  readonly counts: Readonly<Record<string, number>>;
}

/** A request that was refused: its status is from 400 to 499. */
export interface RefusedRequest {
  readonly at: number;
  /** The `operationId` in the OpenAPI document; null when there is no such operation. */
  readonly operation: string | null;
  readonly status: number;
  /** The error code of the response; "" if it had none. */
  readonly code: string;
  readonly request_id: string;
}

/** What an application asked of late. */
export interface ApplicationRequests {
  /** The oldest first. */
  readonly hours: readonly RequestHour[];
  /** The newest last. */
  readonly refused: readonly RefusedRequest[];
}

export const noRequests: ApplicationRequests = { hours: [], refused: [] };

export const requestLimits = {
  keptMs: 24 * hour,
  refused: 200,
  /** Applications whose requests are counted between two times at which the counts are stored. */
  applications: 2_000,
} as const;

/** Adds the requests of two times or processes. Drops what is too old, and all but the last refused requests. */
export function addedRequests(
  a: ApplicationRequests,
  b: ApplicationRequests,
  now: number,
): ApplicationRequests {
  const since = now - requestLimits.keptMs;
  const hours = new Map<number, Record<string, number>>();
  for (const { at, counts } of [...a.hours, ...b.hours]) {
    if (at + hour <= since) continue;
    const known = hours.get(at) ?? {};
    for (const [name, count] of Object.entries(counts)) known[name] = (known[name] ?? 0) + count;
    hours.set(at, known);
  }
  const refused = [...a.refused, ...b.refused]
    .filter(({ at }) => at > since)
    .sort((earlier, later) => earlier.at - later.at)
    .slice(-requestLimits.refused);
  return {
    hours: [...hours].sort(([earlier], [later]) => earlier - later).map(([at, counts]) => ({ at, counts })),
    refused,
  };
}

/** A completed request of an application. */
interface CountedRequest {
  readonly applicationId: string;
  readonly operation: string | null;
  readonly status: number;
  /** The error code of the response; "" if it has none. */
  readonly code: string;
  readonly requestId: string;
}

interface Growing {
  readonly hours: Map<number, Record<string, number>>;
  readonly refused: RefusedRequest[];
}

/** Counts requests in memory until they are taken to be stored. */
export class RequestCounter {
  readonly #counted = new Map<string, Growing>();

  constructor(readonly now: () => number) {}

  count({ applicationId, operation, status, code, requestId }: CountedRequest): void {
    let of = this.#counted.get(applicationId);
    if (!of) {
      if (this.#counted.size >= requestLimits.applications) return;
      of = { hours: new Map(), refused: [] };
      this.#counted.set(applicationId, of);
    }
    const now = this.now();
    const at = Math.floor(now / hour) * hour;
    const counts = of.hours.get(at) ?? {};
    const name = `${operation ?? "other"} ${status}`;
    counts[name] = (counts[name] ?? 0) + 1;
    of.hours.set(at, counts);
    if (status < 400 || status >= 500) return;
    of.refused.push({ at: now, operation, status, code, request_id: requestId });
    // Halved, so that dropping the oldest costs little for each request.
    if (of.refused.length > 2 * requestLimits.refused) of.refused.splice(0, requestLimits.refused);
  }

  /** Returns the requests of an application that were not taken. */
  of(applicationId: string): ApplicationRequests {
    const counted = this.#counted.get(applicationId);
    return counted ? requestsIn(counted) : noRequests;
  }

  /** The number of applications with requests. */
  get size(): number {
    return this.#counted.size;
  }

  /** Takes the requests of some applications, at most `most`: those whose first request came first. */
  take(most: number): [applicationId: string, requests: ApplicationRequests][] {
    const taken = [...this.#counted.entries().take(most)];
    for (const [id] of taken) this.#counted.delete(id);
    return taken.map(([id, counted]) => [id, requestsIn(counted)]);
  }
}

const requestsIn = ({ hours, refused }: Growing): ApplicationRequests => ({
  hours: [...hours].map(([at, counts]) => ({ at, counts })),
  refused: refused.slice(-requestLimits.refused),
});

/** The requests of each application. */
export interface RequestStore {
  /** Adds to the stored requests. Ignores applications that do not exist. */
  add(
    requests: readonly (readonly [applicationId: string, ApplicationRequests])[],
    now: number,
  ): Promise<void>;
  of(applicationId: string): Promise<ApplicationRequests>;
}
