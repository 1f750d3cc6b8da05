import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { listOf, noContent } from "../answers.ts";
import { IsoTimestamp, named } from "../fields.ts";
import { IdParameter } from "../parameters.ts";
import { operators, readers } from "./access.ts";
import { ApplicationIdParameter, exampleApplication } from "./application-fields.ts";
import type { AdminDeps, AdminListener } from "./base.ts";

const ConsentSchema = named("Consent", "What a user allowed an application.", {
  application_id: Type.String({ description: "Id of the application." }),
  application_name: Type.String({ description: "Its name." }),
  scopes: Type.Array(Type.String(), { description: "What the user allowed." }),
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
  order: "By application.",
  description: "One for each application.",
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
        description: "What a user has allowed applications, as far as it is remembered.",
      },
    },
  );

  // Idempotent. Also revokes the tokens of a user whose consent was not stored.
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
      response: { 204: noContent("The application has nothing of the user (any more).") },
      detail: {
        operationId: "revokeConsent",
        tags: ["Sign-in"],
        description:
          "Ends the codes, tokens and subscriptions that an application has of a user, at once, whether the consent was remembered or not.",
      },
    },
  );
}
