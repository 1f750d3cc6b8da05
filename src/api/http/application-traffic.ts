import { minute } from "../../domain/time.ts";

/** The most applications with counts of their own. */
const mostShown = 20;
/** The most applications whose recent requests are compared. */
const mostCompared = 10_000;
/** The weight of earlier minutes: half is left after about ten. */
const keptPart = 0.93;
/** How many times as many recent requests an application needs to replace another one, so that two do not alternate. */
const clearlyMore = 1.5;

interface Application {
  readonly id: string;
  readonly name: string;
}

/** The counts of one application, or of all others. */
export interface ApplicationCounts {
  /** `other` for all others. */
  readonly id: string;
  readonly name: string;
  requests: number;
  /** Those with the status 429. */
  limited: number;
}

const newCounts = (id: string, name: string): ApplicationCounts => ({ id, name, requests: 0, limited: 0 });

interface Recent {
  readonly id: string;
  name: string;
  /** The requests of the last minutes, of which earlier ones count less. */
  weight: number;
  /** null while its requests count as those of others. */
  shown: ApplicationCounts | null;
}

/**
 * Requests by application, for a monitoring system that stores a series for each: those of the 20 applications with the
 * most requests of late, and those of all others together. Each count only grows while it is shown; an application that
 * replaces another one begins at 0.
 */
export class ApplicationTraffic {
  readonly #recent = new Map<string, Recent>();
  readonly #others: ApplicationCounts = { id: "other", name: "other", requests: 0, limited: 0 };
  readonly #now: () => number;
  #rankedAt: number;
  #shownCount = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#rankedAt = now();
  }

  count({ id, name }: Application, status: number): void {
    if (Math.abs(this.#now() - this.#rankedAt) >= minute) this.#rank();
    let recent = this.#recent.get(id);
    if (!recent && this.#recent.size < mostCompared) {
      recent = { id, name, weight: 0, shown: null };
      this.#recent.set(id, recent);
    }
    if (recent) {
      recent.weight++;
      // A changed name is a series of its own.
      if (recent.name !== name && recent.shown) recent.shown = newCounts(id, name);
      recent.name = name;
      if (!recent.shown && this.#shownCount < mostShown) this.#show(recent);
    }
    const counts = recent?.shown ?? this.#others;
    counts.requests++;
    if (status === 429) counts.limited++;
  }

  #show(recent: Recent): void {
    recent.shown = newCounts(recent.id, recent.name);
    this.#shownCount++;
  }

  /** Lets earlier requests count less, and gives the places of the least to those with clearly more. */
  #rank(): void {
    this.#rankedAt = this.#now();
    for (const [id, recent] of this.#recent) {
      recent.weight *= keptPart;
      if (!recent.shown && recent.weight < 0.1) this.#recent.delete(id);
    }
    const byWeight = [...this.#recent.values()].sort((a, b) => a.weight - b.weight);
    const least = byWeight.filter(({ shown }) => shown !== null);
    const candidates = byWeight.filter(({ shown }) => shown === null).reverse();
    for (const [i, candidate] of candidates.slice(0, mostShown).entries()) {
      const replaced = least[i];
      if (!replaced || candidate.weight < replaced.weight * clearlyMore) break;
      replaced.shown = null;
      this.#shownCount--;
      this.#show(candidate);
    }
  }

  /** Returns the counts of the applications with the most requests, and of all others. */
  shown(): readonly Readonly<ApplicationCounts>[] {
    return [...[...this.#recent.values()].flatMap(({ shown }) => shown ?? []), this.#others];
  }
}
