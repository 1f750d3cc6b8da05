import { second } from "../../domain/time.ts";
import { between, type Random, seeded, weighted } from "../chance.ts";

/** What goes wrong with a request of the API; `revoked` ends its token before it is answered. */
export type ApiFault =
  | { readonly kind: "busy"; readonly status: 429 | 503; readonly retryAfterSeconds: number }
  | { readonly kind: "slow"; readonly ms: number }
  | { readonly kind: "revoked" };

/**
 * What goes wrong with a webhook: it comes `late`, it comes `twice`, the second time after `ms`, or it is `overtaken` by
 * the next one to the same receiver, for which it waits up to `ms`.
 */
export interface WebhookFault {
  readonly kind: "late" | "twice" | "overtaken";
  readonly ms: number;
}

/** Decides what goes wrong. Each call is about the next request of its kind; null: nothing. */
export interface FaultPlan {
  api(): ApiFault | null;
  /** Milliseconds after which a new event stream is cut off. */
  stream(): number | null;
  webhook(): WebhookFault | null;
}

const tenth = second / 10;

type Kinds<Kind extends string> = Readonly<Record<Kind | "none", number>>;

/** How often each happens, in per cent. */
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
 * The faults of a seed. Requests of the API, streams and webhooks have a sequence each, so that the n-th of a kind meets
 * the same fault in every run, whatever happens to the others.
 */
export function faultPlan(seed: number): FaultPlan {
  const [api, stream, webhook] = [1, 2, 3].map((kind) => seeded(seed * 4 + kind)) as [Random, Random, Random];
  return {
    api() {
      const kind = drawn(api, apiKinds);
      // Drawn in any case, so that a kind does not shift what follows.
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
