import { DomainError } from "../../domain/errors.ts";
import { Id } from "../../domain/fields.ts";
import type { Store } from "../../store/store.ts";
import { reply, replyJson } from "../exchange.ts";
import { readParam } from "../query.ts";
import { type AdminListener, operatorOnly } from "./base.ts";

export interface ConsentRouteOptions {
  readonly store: Store;
  readonly now: () => number;
  /** Called when tokens were revoked. */
  readonly tokensRevoked: () => void;
}

/** What users have allowed applications. */
export function consentRoutes(app: AdminListener, { store, now, tokensRevoked }: ConsentRouteOptions): void {
  app.get(
    "/admin/v1/users/:id/consents",
    async ({ exchange, params }) => {
      const id = readParam("id", params.id, Id);
      if (!(await store.users.exists(id)))
        throw new DomainError("user_not_found", "There is no user with this id");
      return replyJson(exchange, 200, { data: await store.consents.ofUser(id), message: "OK" });
    },
    operatorOnly(),
  );

  // Idempotent: also ends what an application has of a user whose consent was not to be remembered.
  app.delete(
    "/admin/v1/users/:id/consents/:application_id",
    async ({ exchange, params }) => {
      await store.consents.revoke(readParam("id", params.id, Id), params.application_id, now());
      tokensRevoked();
      return reply(exchange, 204, null);
    },
    operatorOnly(),
  );
}
