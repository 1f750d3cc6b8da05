import { isDeepStrictEqual } from "node:util";
import { type FilterChanges, type Filters, shownFilters } from "../../../src/domain/filters.ts";
import type { KnownApplication, KnownSubscription } from "./platform.ts";

/** The type of all events of a run. */
export const eventType = { event: "channel.followed", version: 1 } as const;

/** Events differ in who follows. */
export const followers = ["ada", "ben", "cleo"] as const;
type Follower = (typeof followers)[number];

const isAda = { follower: { username: "ada" } };
const isNotAda = { follower: { username: { $neq: "ada" } } };
const isBen = { follower: { username: { $in: ["ben"] } } };
const [ofName, ofVersion] = [eventType.event, `${eventType.event}@${eventType.version}`];

/** What filters an application may have, and whose events they let through. Each one replaces all others. */
export const filters = {
  none: { changes: null, passes: followers },
  "only ada": { changes: { [ofName]: isAda, [ofVersion]: null }, passes: ["ada"] },
  "not ada": { changes: { [ofName]: isNotAda, [ofVersion]: null }, passes: ["ben", "cleo"] },
  "ben in this version": { changes: { [ofName]: isAda, [ofVersion]: isBen }, passes: ["ben"] },
} as const satisfies Record<string, { changes: FilterChanges; passes: readonly Follower[] }>;
export type FilterName = keyof typeof filters;
export const filterNames = Object.keys(filters) as FilterName[];

/** Returns the name of stored filters. */
export function nameOf(stored: Filters): FilterName {
  const shown = shownFilters(stored);
  const found = filterNames.find((name) => {
    const set = Object.entries(filters[name].changes ?? {}).filter(([, condition]) => condition !== null);
    return isDeepStrictEqual(shown, Object.fromEntries(set));
  });
  if (!found) throw new Error(`unknown filters: ${JSON.stringify(stored)}`);
  return found;
}

interface Publishing {
  /** The filters that each application may have had meanwhile. */
  readonly inForce: ReadonlyMap<KnownApplication, Set<FilterName>>;
  /** What was subscribed before and, as far as it is known, is still. */
  readonly subscriptions: readonly KnownSubscription[];
}

/** Which applications filters keep an event away from. It is uncertain only while they change. */
export class Filtering {
  readonly #events = new Map<string, Publishing & { readonly follower: Follower }>();
  readonly #open = new Set<Publishing>();

  /** Events are being published. Returns what is to be called when that ends. */
  begin(
    events: readonly { readonly id: string; readonly follower: Follower }[],
    applications: Iterable<KnownApplication>,
    subscribed: readonly KnownSubscription[],
  ): () => void {
    const inForce = new Map([...applications].map((one) => [one, new Set(one.filters)]));
    const publishing = { inForce, subscriptions: subscribed.filter(isThere) };
    this.#open.add(publishing);
    for (const { id, follower } of events) this.#events.set(id, { ...publishing, follower });
    return () => {
      this.#open.delete(publishing);
      const subscriptions = publishing.subscriptions.filter(isThere);
      for (const { id, follower } of events) this.#events.set(id, { inForce, subscriptions, follower });
    };
  }

  /** A change was asked for. Until it is acknowledged, either filters may be in force. */
  asked(application: KnownApplication, to: FilterName): void {
    application.filters.add(to);
    for (const { inForce } of this.#open) inForce.get(application)?.add(to);
  }

  /** What was not acknowledged is stored or lost; later changes do not concern it. */
  processEnds(): void {
    this.#open.clear();
  }

  /** Whether each of the filters that an application may have had lets an event through, or keeps it away. */
  #decision(event: string, application: KnownApplication): "all pass" | "none passes" | "uncertain" {
    const known = this.#events.get(event);
    const inForce = known?.inForce.get(application);
    if (!known || !inForce) throw new Error(`the event ${event} was not published`);
    const passing = [...inForce].filter((name) =>
      (filters[name].passes as readonly Follower[]).includes(known.follower),
    );
    if (passing.length === inForce.size) return "all pass";
    return passing.length === 0 ? "none passes" : "uncertain";
  }

  isKeptAway(event: string, application: KnownApplication): boolean {
    return this.#decision(event, application) === "none passes";
  }

  /** The subscriptions that an acknowledged event certainly has a delivery for. */
  receiversOf(event: string): KnownSubscription[] {
    const subscriptions = this.#events.get(event)?.subscriptions ?? [];
    return subscriptions.filter(({ application }) => this.#decision(event, application) === "all pass");
  }
}

const isThere = ({ removal }: KnownSubscription) => removal === "none";
