import { DomainError } from "../../domain/errors.ts";
import type { OperatorKey, Role } from "../../domain/operator-keys.ts";
import type { Log } from "../../log/log.ts";
import { streamOf } from "../../runtime/file-stream.ts";
import type { OperatorSessions } from "../pages/operator-sessions.ts";
import { type RateLimiter, requireWithinLimit } from "../rate-limit.ts";
import { clientNetworkOf, type RequestContext } from "../request-context.ts";
import type { OperatorKeys } from "./operator-keys.ts";

/*
 * Access to the routes of the admin API, declared by each route as `roles`. Only operators may read the content of a
 * backup, because it contains every secret.
 */
export const everyRole: readonly Role[] = ["operator", "publisher", "reader"];
export const writers: readonly Role[] = ["operator", "publisher"];
export const readers: readonly Role[] = ["operator", "reader"];
export const operators: readonly Role[] = ["operator"];

/** Wrong keys per minute from one address (IPv6: a /64) before it is rate limited. */
const wrongKeysPerMinute = 20;

export interface GateOptions {
  readonly operatorKeys: OperatorKeys;
  readonly log: Log;
  readonly now: () => number;
  /** Sessions of the console; absent or null if there is no console. */
  readonly sessions?: Pick<OperatorSessions, "keyOf"> | null;
  /** Replaces `wrongKeysPerMinute`; 0 means no limit. */
  readonly wrongKeyLimit?: number | undefined;
  /** Counts wrong keys. */
  readonly limiter: Pick<RateLimiter, "take" | "giveBack">;
}

/**
 * Checks the key of an admin request by the SHA-256 of its secret; null if the request has none. Throws in the order
 * 401, 429, 403. A valid key is accepted even if its address is rate limited.
 */
export function operatorGate({
  operatorKeys,
  log,
  sessions = null,
  wrongKeyLimit = wrongKeysPerMinute,
  limiter,
}: GateOptions): (
  requestContext: RequestContext,
  hash: Uint8Array | null,
  allowed: readonly Role[],
) => Promise<void> {
  /**
   * Looks up a key that is not in memory. Another replica may just have created it, so this reads the store, within the
   * limit of wrong keys of the address.
   */
  const lookUp = async (requestContext: RequestContext, hash: Uint8Array): Promise<OperatorKey> => {
    const bucket = `wrong operator keys from ${clientNetworkOf(requestContext)}`;
    const budget = limiter.take(bucket, wrongKeyLimit);
    requireWithinLimit(budget, "wrong operator keys from this address");
    await operatorKeys.refresh();
    const key = operatorKeys.find(hash);
    if (key) {
      limiter.giveBack(bucket, wrongKeyLimit);
      return key;
    }
    // Logged only within the limit, so that guessing keys does not fill the log.
    log.warn("wrong_operator_key", {
      request_id: requestContext.requestId,
      address: requestContext.clientAddress,
      ...(budget?.remaining === 0 && { further: "are refused unlogged for now" }),
    });
    throw new DomainError("invalid_token", "The operator key is wrong, revoked or expired");
  };

  return async (requestContext, hash, allowed) => {
    const key =
      hash === null
        ? await sessions?.keyOf(requestContext.request)
        : (operatorKeys.find(hash) ?? (await lookUp(requestContext, hash)));
    if (!key) {
      throw new DomainError("missing_token", "This needs the operator key: Authorization: Bearer <key>");
    }
    operatorKeys.used(key);
    requestContext.operatorKey = key;
    if (!allowed.includes(key.role)) {
      const message = `This needs a key with the role ${allowed.join(" or ")}; this one is a ${key.role}`;
      throw new DomainError("insufficient_role", message);
    }
  };
}

/** Returns a response body that ends when its caller loses access: the client controls how long it takes. */
export function whileAllowed(
  { longBody }: Pick<RequestContext, "longBody">,
  chunks: AsyncIterable<Uint8Array>,
): ReadableStream<Uint8Array> {
  const allowed = async function* () {
    for await (const chunk of chunks) {
      await longBody?.requireAllowed();
      yield chunk;
    }
  };
  return streamOf(allowed());
}
