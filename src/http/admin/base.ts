import { bearer } from "@elysiajs/bearer";
import { DomainError } from "../../domain/errors.ts";
import { secretHash } from "../../domain/tokens.ts";
import type { Log } from "../../log.ts";
import type { TrustedProxies } from "../../proxies.ts";
import { tokenOf } from "../auth.ts";
import { listener } from "../server.ts";

/** The names of the query and body parameters that the bearer plugin reads keys from: nobody can guess them. */
const unguessable = crypto.randomUUID();

/** The listener of the platform's own backend: a route says `operator: true` to need the operator key. */
export function adminListener(options: {
  log: Log;
  adminKeyHash: Uint8Array;
  trustedProxies?: TrustedProxies | null;
}) {
  const { log, trustedProxies = null } = options;
  return listener({ log, headers: {}, trustedProxies })
    .use(bearer({ extract: { header: "Bearer", query: unguessable, body: unguessable } }))
    .macro({
      operator: {
        transform: ({ bearer, headers }) => {
          const key = tokenOf(bearer, headers["authorization"]);
          if (key === null) {
            throw new DomainError(
              "missing_token",
              "This needs the operator key: Authorization: Bearer <key>",
            );
          }
          if (!crypto.timingSafeEqual(secretHash(key), options.adminKeyHash)) {
            throw new DomainError("invalid_token", "The operator key is wrong");
          }
        },
      },
    });
}

export type AdminListener = ReturnType<typeof adminListener>;

/** Bodies of the admin API other than NDJSON. */
export const adminBodyBytes = 256 * 1024;
