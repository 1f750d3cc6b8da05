import type { Application } from "../../../src/domain/applications.ts";
import type { SeenAttempt } from "./receivers.ts";

/** What is known of an application from outside of the engine. */
export interface KnownApplication {
  readonly id: string;
  /** As the last commit left it; null: removed. */
  committed: Application | null;
  /** Changes that are asked for and not acknowledged: meanwhile either state may hold. */
  changing: number;
  /** Since then waits may be shorter: a person has asked for something, the clock was set, a process has begun. */
  excusedAt: number;
  /** Until then its receiver has asked to be left alone. */
  pausedUntil: number;
  /** The generation of its endpoint that is disabled: it has answered 410, or only failed for 24 hours. */
  disabledGeneration: number | null;
  /** The first failure since the last success, where it is certain which generation was called; null: none is known. */
  failingSince: number | null;
  /** When the state of its endpoint began at the earliest, and since when it may have failed only. */
  generationSince: number;
  mayFailSince: number | null;
  /** When there was last a reason to disable its endpoint; null: never. */
  mayDisableAt: number | null;
  /** When the first of the changes was asked for that are not acknowledged. */
  changingSince: number;
  /** Whether anything went wrong since the process began, or the generation. */
  hadTrouble: boolean;
  wasDisabled: boolean;
  wasStream: boolean;
  generations: number;
  replays: number;
}

export const newlyKnown = (id: string): KnownApplication => ({
  id,
  committed: null,
  changing: 0,
  excusedAt: 0,
  pausedUntil: 0,
  disabledGeneration: null,
  failingSince: null,
  generationSince: 0,
  mayFailSince: null,
  mayDisableAt: null,
  changingSince: 0,
  hadTrouble: false,
  wasDisabled: false,
  wasStream: false,
  generations: 0,
  replays: 0,
});

export interface KnownSubscription {
  readonly id: string;
  readonly application: KnownApplication;
  readonly broadcaster: number;
  /** Whether its removal was asked for, and then acknowledged. */
  removal: "none" | "asked" | "acknowledged";
}

export interface KnownDelivery {
  readonly id: string;
  readonly subscription: KnownSubscription;
  readonly sequence: number;
  readonly event: string;
  /** The index of the attempt by which its first attempt is made; null: none is. */
  firstMade: number | null;
  attempts: number;
  /** What its receiver answered, in order, without what no log has because a process was killed. */
  answered: string[];
  underWay: SeenAttempt | null;
  /** Whether a receiver took it, and did at any time. */
  isTaken: boolean;
  wasTaken: boolean;
  wasGone: boolean;
  /** How often it was asked for by its id, and how often it was sent although it was taken. */
  retries: number;
  repeats: number;
  lastFailure: { readonly began: number; readonly at: number; readonly waitMs: number } | null;
  /** A process has ended while it connected: attempts of a lower index, of what is behind it, may be first. */
  lateUntil: number;
}

export const newlyKnownDelivery = (
  its: Pick<KnownDelivery, "id" | "subscription" | "sequence" | "event">,
): KnownDelivery => ({
  ...its,
  firstMade: null,
  attempts: 0,
  answered: [],
  underWay: null,
  isTaken: false,
  wasTaken: false,
  wasGone: false,
  retries: 0,
  repeats: 0,
  lastFailure: null,
  lateUntil: 0,
});
