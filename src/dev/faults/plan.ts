import { second } from "../../domain/time.ts";
import { between, type Random, seeded, weighted } from "../chance.ts";

/** A fault of an API request; `revoked` revokes its token before the answer. */
export type ApiFault =
  | { readonly kind: "busy"; readonly status: 429 | 503; readonly retryAfterSeconds: number }
  | { readonly kind: "slow"; readonly ms: number }
  | { readonly kind: "revoked" };

/**
 * A fault of a webhook: it arrives `late` by `ms`, it arrives `twice`, the second time after `ms`, or it is `overtaken`
 * by the next one to the same receiver, which it waits for up to `ms`.
 */
export interface WebhookFault {
  readonly kind: "late" | "twice" | "overtaken";
  readonly ms: number;
}

/** Decides the faults. Each call is for the next request of its kind; null means no fault. */
export interface FaultPlan {
  api(): ApiFault | null;
  /** Milliseconds after which the next event stream is cut off; null for never. */
  stream(): number | null;
  webhook(): WebhookFault | null;
}

const tenth = second / 10;

type Kinds<Kind extends string> = Readonly<Record<Kind | "none", number>>;

/** The frequency of each fault, in percent. */
const apiKinds: Kinds<"rate_limited" | "unavailable" | "slow" | "revoked"> = {
  none: 77,
  rate_limited: 8,
  unavailable: 6,
  slow: 7,
  revoked: 2,
};
const webhookKinds: Kinds<WebhookFault["kind"]> = { none: 55, late: 15, twice: 15, overtaken: 15 };
const streamKinds: Kinds<"cut"> = { none: 20, cut: 80 };

/**
 * Returns the faults of a seed. API requests, streams and webhooks each have their own sequence, so that the n-th of a
 * kind has the same fault in every run.
 */
export function faultPlan(seed: number): FaultPlan {
  const [api, stream, webhook] = [1, 2, 3].map((kind) => seeded(seed * 4 + kind)) as [Random, Random, Random];
  return {
    api() {
      const kind = drawn(api, apiKinds);
      // Drawn in any case, so that the kind of a fault does not change the following ones.
      const retryAfterSeconds = between(api, 1, 4);
      const ms = between(api, 10, 60) * tenth;
      if (kind === "none") return null;
      if (kind === "rate_limited") return { kind: "busy", status: 429, retryAfterSeconds };
      if (kind === "unavailable") return { kind: "busy", status: 503, retryAfterSeconds };
      return kind === "slow" ? { kind, ms } : { kind };
    },
    stream() {
      const kind = drawn(stream, streamKinds);
      const ms = between(stream, 50, 300) * tenth;
      return kind === "none" ? null : ms;
    },
    webhook() {
      const kind = drawn(webhook, webhookKinds);
      const ms = between(webhook, 10, 80) * tenth;
      return kind === "none" ? null : { kind, ms };
    },
  };
}

function drawn<Kind extends string>(random: Random, kinds: Kinds<Kind>): Kind | "none" {
  return weighted(random, Object.keys(kinds) as (Kind | "none")[], (kind) => kinds[kind]);
}
