import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { about, Id } from "../../domain/fields.ts";
import type { Store } from "../../store/store.ts";
import { reply, replyJson } from "../exchange.ts";
import { answer, IsoTimestamp, Message } from "../public/reference.ts";
import { readParam } from "../query.ts";
import { exampleApplication, readApplicationId } from "./application-fields.ts";
import type { AdminListener } from "./base.ts";
import { adminOperation, closed } from "./reference.ts";

const tag = "Sign-in";

const UserParams = Type.Object({ id: about(Id, "Id of the user.") });
const ConsentParams = Type.Object({
  id: about(Id, "Id of the user."),
  application_id: Type.String({ description: "Id of the application." }),
});

const ConsentSchema = Type.Object(
  {
    application_id: Type.String({ description: "Id of the application." }),
    application_name: Type.String({ description: "Its name." }),
    scopes: Type.Array(Type.String(), { description: "What the user allowed." }),
    created_at: IsoTimestamp,
    updated_at: IsoTimestamp,
  },
  { $id: "Consent", description: "What a user allowed an application.", ...closed },
);

export interface ConsentRouteOptions {
  readonly store: Store;
  readonly now: () => number;
}

/** What users have allowed applications. */
export function consentRoutes(app: AdminListener, { store, now }: ConsentRouteOptions): void {
  app.get(
    "/admin/v1/users/:id/consents",
    async ({ exchange, params }) => {
      const id = readParam("id", params.id, Id);
      if (!(await store.users.exists(id)))
        throw new DomainError("user_not_found", "There is no user with this id");
      return replyJson(exchange, 200, { data: await store.consents.ofUser(id), message: "OK" });
    },
    adminOperation({
      id: "getConsents",
      tag,
      summary: "List Consents",
      description: "What a user has allowed applications, as far as it is remembered.",
      params: UserParams,
      answers: {
        200: answer("One for each application.", {
          schema: Type.Object(
            { data: Type.Array(ConsentSchema, { description: "By application." }), message: Message },
            { $id: "ConsentList", description: "Consents of a user.", ...closed },
          ),
          example: {
            data: [
              {
                application_id: exampleApplication.id,
                application_name: exampleApplication.name,
                scopes: ["users:read"],
                created_at: "2026-01-14T16:08:06.123Z",
                updated_at: "2026-01-14T16:08:06.123Z",
              },
            ],
            message: "OK",
          },
        }),
      },
      errors: ["user_not_found"],
    }),
  );

  // Idempotent: also ends what an application has of a user whose consent was not to be remembered.
  app.delete(
    "/admin/v1/users/:id/consents/:application_id",
    async ({ exchange, params }) => {
      const id = readParam("id", params.id, Id);
      await store.consents.revoke(id, readApplicationId(params.application_id), now());
      return reply(exchange, 204, null);
    },
    adminOperation({
      id: "revokeConsent",
      tag,
      summary: "Revoke Consent",
      description:
        "Ends the codes, tokens and subscriptions that an application has of a user, at once, whether the consent was remembered or not.",
      params: ConsentParams,
      answers: { 204: answer("The application has nothing of the user (any more).") },
    }),
  );
}
