/** The outcome of an attempt, or of a delivery that ended without an attempt, for live views. */
export interface DeliveryOutcome {
  readonly delivery_id: string;
  readonly subscription_id: string;
  readonly application_id: string;
  readonly type: string;
  /** When it was known, in milliseconds since the epoch. */
  readonly at: number;
  /** The state of the delivery: `pending` when it will be retried. */
  readonly status: string;
  /** The number of the attempt; 0 when none was made. */
  readonly attempt: number;
  /** The class of the attempt's outcome; null when none was made. */
  readonly outcome: string | null;
  /** The HTTP status; null when none arrived. */
  readonly http_status: number | null;
  readonly duration_ms: number | null;
  readonly error: string | null;
}

/** A sample of the outcomes of an application, or of all applications (null), in order. */
export interface OutcomeBatch {
  readonly application_id: string | null;
  readonly outcomes: readonly DeliveryOutcome[];
  /** The number of outcomes that are not in the sample. */
  readonly left_out: number;
}

/** A change of a topic. */
export interface Changed {
  readonly topic: Topic;
  /** The applications concerned; null for any. */
  readonly applications: readonly string[] | null;
}

/** Topics that belong to applications: a stream of an application has its own changes only. */
export const applicationTopics = [
  "applications",
  "deliveries",
  "notices",
  "statistics",
  "subscriptions",
] as const;
export type Topic = (typeof applicationTopics)[number];

/** The outcomes to collect. */
export interface WatchedOutcomes {
  /** Whether to sample the outcomes of all applications together. */
  readonly all: boolean;
  readonly applications: readonly string[];
}

/** The most outcomes of a batch: a person could not read more. */
const mostOfBatch = 20;
/** A change of more applications than this counts as one of any application. */
const mostApplications = 100;

/** Collects the watched outcomes, or a sample when there are many. */
export class OutcomeCollector {
  readonly #batches = new Map<string | null, { outcomes: DeliveryOutcome[]; left_out: number }>();
  #changed = new Map<Topic, Set<string>>();

  /** Sets which outcomes are collected from now on. */
  watch({ all, applications }: WatchedOutcomes): void {
    const wanted = new Set<string | null>([...(all ? [null] : []), ...applications]);
    for (const key of this.#batches.keys()) if (!wanted.has(key)) this.#batches.delete(key);
    for (const key of wanted)
      if (!this.#batches.has(key)) this.#batches.set(key, { outcomes: [], left_out: 0 });
  }

  /** Whether this application is watched, or all of them are. */
  isWanted(applicationId: string): boolean {
    return this.#batches.has(null) || this.#batches.has(applicationId);
  }

  add(outcome: DeliveryOutcome): void {
    for (const key of [null, outcome.application_id]) {
      const batch = this.#batches.get(key);
      if (!batch) continue;
      if (batch.outcomes.length < mostOfBatch) batch.outcomes.push(outcome);
      else batch.left_out++;
    }
  }

  /** Notes a change of these applications, or of the server when there are none. Returns whether it is watched. */
  note(topic: Topic, applications: readonly string[]): boolean {
    const wanted = applications.filter((id) => this.isWanted(id));
    if (applications.length === 0 ? !this.#batches.has(null) : wanted.length === 0) return false;
    const known = this.#changed.get(topic) ?? new Set();
    for (const id of wanted) if (known.size <= mostApplications) known.add(id);
    this.#changed.set(topic, known);
    return true;
  }

  /** Returns the changes noted since the last call. */
  takeChanged(): Changed[] {
    const changed = this.#changed;
    this.#changed = new Map();
    return [...changed].map(([topic, ids]) => {
      return { topic, applications: ids.size > mostApplications ? null : [...ids] };
    });
  }

  /** Returns the outcomes collected since the last call. */
  take(): OutcomeBatch[] {
    const taken: OutcomeBatch[] = [];
    for (const [application_id, { outcomes, left_out }] of this.#batches) {
      if (outcomes.length === 0) continue;
      taken.push({ application_id, outcomes, left_out });
      this.#batches.set(application_id, { outcomes: [], left_out: 0 });
    }
    return taken;
  }
}
