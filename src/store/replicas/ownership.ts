/**
 * Which endpoints this process delivers to. Where several processes are replicas of one server, each endpoint belongs to
 * one of them at a time; with a data directory all belong to this one.
 */
export interface Ownership {
  /** Takes part; `deliverer` learns which endpoints are its own. Resolves when it has those that it can have at once. */
  join(deliverer: Deliverer): Promise<void>;
  /** Hands all endpoints over, each as soon as nothing of it is under way. To be called when nothing new is started. */
  leave(): Promise<void>;
  /** Whether the endpoint of an application belongs to this process. */
  holds(applicationId: string): boolean;
  /** Whether attempts may start: not where others may already have taken what this process holds. */
  hasLease(): boolean;
  /** Whether this process does what one alone does, such as cleaning. */
  leads(): boolean;
  /** Tells the owners of endpoints. What is lost on the way, they find in the store within a second or so. */
  notify(news: EndpointNews): void;
}

/** What was done in one process, for the one that delivers. */
export type EndpointNews =
  /** First attempts wait for these applications. */
  | { readonly kind: "published"; readonly applications: readonly string[] }
  /** A person has asked for a delivery, or for a replay. */
  | { readonly kind: "asked"; readonly application: string }
  /** The application, or the generation of its endpoint, has changed. */
  | { readonly kind: "changed"; readonly application: string }
  /** Its subscriptions were removed. */
  | { readonly kind: "unsubscribed"; readonly application: string; readonly ids: readonly string[] };

/** What delivers to the endpoints that this process holds. */
export interface Deliverer {
  /** Reads what is pending of endpoints that are its own since now. */
  gained(isGained: (applicationId: string) => boolean): Promise<void>;
  /** Forgets endpoints that are not its own any more. What is under way ends, and counts for nothing. */
  lost(isLost: (applicationId: string) => boolean): void;
  /** Applications of which attempts are under way, or results not recorded. */
  busy(): Iterable<string>;
  /** Attempts may start again: see `hasLease`. */
  resumed(): void;
  heard(news: EndpointNews): void;
  /** News may be lost: what is in memory may be outdated. */
  missed(): void;
  /** Looks for what is pending in the store. */
  look(): Promise<void>;
}

/** Of a process that is alone. `begin` is called before anything is delivered. */
export function soleOwnership(begin: () => Promise<void>): Ownership {
  return {
    async join(deliverer) {
      await begin();
      await deliverer.gained(() => true);
    },
    async leave() {},
    holds: () => true,
    hasLease: () => true,
    leads: () => true,
    notify() {},
  };
}
