import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { listOf, noContent } from "../answers.ts";
import { IsoTimestamp, named } from "../fields.ts";
import { IdParameter } from "../parameters.ts";
import { operators, readers } from "./access.ts";
import { ApplicationIdParameter, exampleApplication } from "./application-fields.ts";
import type { AdminDeps, AdminListener } from "./base.ts";

const ConsentSchema = named("Consent", "A user's consent to an application.", {
  application_id: Type.String({ description: "Id of the application." }),
  application_name: Type.String({ description: "Name of the application." }),
  scopes: Type.Array(Type.String(), { description: "Scopes that the user granted." }),
  created_at: IsoTimestamp,
  updated_at: IsoTimestamp,
});

const exampleConsent = {
  application_id: exampleApplication.id,
  application_name: exampleApplication.name,
  scopes: ["users:read"],
  created_at: "2026-01-14T16:08:06.123Z",
  updated_at: "2026-01-14T16:08:06.123Z",
};

const Consents = listOf(ConsentSchema, {
  order: "Consents, by application.",
  description: "The consents of the user.",
  example: exampleConsent,
});

/** Consents that users gave to applications: list and revoke. */
export function consentRoutes(app: AdminListener, { store, now }: AdminDeps): void {
  app.get(
    "/admin/v1/users/:id/consents",
    async ({ params: { id } }) => {
      if (!(await store.users.exists(id)))
        throw new DomainError("user_not_found", "There is no user with this id");
      return { data: await store.consents.ofUser(id), message: "OK" };
    },
    {
      roles: readers,
      params: Type.Object({ id: IdParameter("user", exampleUser.id) }),
      response: { 200: Consents },
      errors: ["user_not_found"],
      detail: {
        operationId: "getConsents",
        tags: ["Sign-in"],
        summary: "List Consents",
        description: "Returns the stored consents of a user, one for each application.",
      },
    },
  );

  // Idempotent. Also revokes tokens for which no consent was stored.
  app.delete(
    "/admin/v1/users/:id/consents/:application_id",
    async ({ params: { id, application_id }, status }) => {
      await store.consents.revoke(id, application_id, now());
      return status(204, undefined);
    },
    {
      roles: operators,
      params: Type.Object({
        id: IdParameter("user", exampleUser.id),
        application_id: ApplicationIdParameter,
      }),
      response: { 204: noContent("The application has no access to the user.") },
      detail: {
        operationId: "revokeConsent",
        tags: ["Sign-in"],
        description:
          "Revokes the codes and tokens and deletes the subscriptions that an application has for a user, whether the consent was stored or not.",
      },
    },
  );
}
