import type { NewEvent } from "../domain/deliveries.ts";
import { type Filters, payloadOf, ReadyFilters } from "../domain/filters.ts";
import type { Queries } from "./pool.ts";

/**
 * Filters of applications, on which publishing decides before its statement: the database cannot evaluate them in
 * bounded time. The statement stores nothing if it finds that a subscriber's filters are others than those that were
 * considered, so that a change is in force from its commit on, whichever replica makes it and whichever publishes.
 */

/** The decisions about a batch of events. */
export interface Considered {
  /** The generation of the filters of each application that was considered. */
  readonly generations: ReadonlyMap<string, number>;
  /** The pairs of an event, by its position from 1, and an application whose filter it does not match. */
  readonly excluded: readonly (readonly [n: number, applicationId: string])[];
}

export const noneConsidered: Considered = { generations: new Map(), excluded: [] };

/** The most applications whose filters are kept in memory. */
const mostKept = 20_000;

interface Kept {
  readonly generation: number;
  readonly filters: ReadyFilters;
}

/** Applications that have filters, or had some, by the subjects that they subscribe to. */
const subscribedApplications = `
SELECT (k.n - 1)::float8 AS subject, a.id, a.filters_generation::float8 AS generation
FROM unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k(broadcaster, name, version, n)
JOIN subscriptions s ON s.broadcaster_user_id = k.broadcaster AND s.event = k.name AND s.version = k.version
JOIN applications a ON a.id = s.app_id
WHERE a.filters_generation > 0`;

const filtersOf = `
SELECT id, filters_generation::float8 AS generation, filters::text AS filters FROM applications
WHERE id = ANY($1::text[])`;

export class FilterDecisions {
  /** Names of types whose subscribers have been found to have filters. */
  readonly #types = new Set<string>();
  #kept = new Map<string, Kept>();

  /** Whether a subscriber of one of the events may have filters. False until the statement has found one. */
  mayConcern(events: readonly NewEvent[]): boolean {
    return this.#types.size > 0 && events.some(({ name }) => this.#types.has(name));
  }

  /** Reads the filters of the subscribers, and decides for each of them which events it does not get. */
  async consider(queries: Queries, events: readonly NewEvent[]): Promise<Considered> {
    for (const { name } of events) this.#types.add(name);
    const bySubject = Map.groupBy(events.entries(), ([, one]) => subjectOf(one));
    const subjects = [...bySubject.values()];
    const firsts = subjects.flatMap(([first]) => (first ? [first[1]] : []));
    const found = await queries.run<{ subject: number; id: string; generation: number }>(
      subscribedApplications,
      [
        firsts.map((event) => event.broadcaster_user_id),
        firsts.map(({ name }) => name),
        firsts.map(({ version }) => version),
      ],
    );
    await this.#read(queries, found);
    const generations = new Map<string, number>();
    const excluded: [number, string][] = [];
    const payloads = new Map<NewEvent, unknown>();
    for (const { subject, id } of found) {
      const kept = this.#kept.get(id);
      // An application that was removed meanwhile has no subscription, either.
      if (!kept) continue;
      generations.set(id, kept.generation);
      for (const [i, event] of subjects[subject] ?? []) {
        const condition = kept.filters.conditionOf(event.name, event.version);
        if (condition === null) continue;
        if (!payloads.has(event)) payloads.set(event, payloadOf(event.body));
        if (!condition.matches(payloads.get(event))) excluded.push([i + 1, id]);
      }
    }
    return { generations, excluded };
  }

  /** Reads the filters that are not kept in their current generation. */
  async #read(queries: Queries, current: readonly { id: string; generation: number }[]): Promise<void> {
    const missing = new Set(
      current.flatMap(({ id, generation }) => (this.#kept.get(id)?.generation === generation ? [] : id)),
    );
    if (missing.size === 0) return;
    if (this.#kept.size + missing.size > mostKept) this.#kept = new Map();
    const ids = this.#kept.size === 0 ? [...new Set(current.map(({ id }) => id))] : [...missing];
    const rows = await queries.run<{ id: string; generation: number; filters: string }>(filtersOf, [ids]);
    for (const { id, generation, filters } of rows) {
      this.#kept.set(id, { generation, filters: new ReadyFilters(JSON.parse(filters) as Filters) });
    }
  }
}

/** What subscriptions are to. */
export const subjectOf = ({ broadcaster_user_id, name, version }: NewEvent) =>
  `${broadcaster_user_id} ${version} ${name}`;
