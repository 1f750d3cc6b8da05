import { type TProperties, Type } from "@sinclair/typebox";
import { type HashedSecret, secretPrefix } from "../../domain/applications.ts";
import { newSecret, secretHash } from "../../domain/tokens.ts";
import { newWebhookSecret } from "../../webhooks/signature.ts";
import { answer } from "../answers.ts";
import { existing } from "../errors.ts";
import { noOtherFields } from "../fields.ts";
import {
  OverlapUntil,
  overlapEnd,
  rotationFields,
  rotationOf,
} from "../public/application/secret-rotation.ts";
import { operators } from "./access.ts";
import { ApplicationParams, ApplicationSchema, exampleApplication } from "./application-fields.ts";
import type { AdminDeps, AdminListener } from "./base.ts";

const RotationInput = Type.Object(rotationFields, {
  $id: "RotationInput",
  description: "How long older secrets remain valid.",
  ...noOtherFields,
  examples: [{ overlap_seconds: 3600 }],
});

const secret = Type.String({ description: "The new secret. It is shown only once." });

/** Returns the response schema of a rotation, with the new secret in the named field. */
function newSecretAnswer<Field extends TProperties>(name: string, field: Field, example: object) {
  const { id } = ApplicationSchema.properties;
  return answer(
    { id, ...field, overlap_until: OverlapUntil },
    {
      name,
      description: "The new secret.",
      example: { id: exampleApplication.id, ...example, overlap_until: "2026-01-14T17:08:06.123Z" },
    },
  );
}

function hashed(secret: string): HashedSecret {
  return { hash: secretHash(secret), prefix: secretPrefix(secret) };
}

/** Rotate the secrets of an application. */
export function secretRoutes(app: AdminListener, { store, now }: AdminDeps): void {
  app.post(
    "/admin/v1/applications/:id/client-secret",
    async ({ params: { id }, body }) => {
      const rotation = rotationOf(body, now());
      const client_secret = newSecret("onair_cs_");
      existing(await store.applications.rotateClientSecret(id, hashed(client_secret), rotation));
      return { id, client_secret, overlap_until: overlapEnd(rotation) };
    },
    {
      roles: operators,
      params: ApplicationParams,
      body: Type.Optional(RotationInput),
      response: {
        200: newSecretAnswer("NewClientSecret", { client_secret: secret }, { client_secret: "onair_cs_…" }),
      },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "rotateClientSecret",
        tags: ["Applications"],
        description:
          "Creates a new client secret, which is shown only once. During the overlap, older secrets are accepted as well.",
      },
    },
  );

  app.post(
    "/admin/v1/applications/:id/webhook-secret",
    async ({ params: { id }, body }) => {
      const rotation = rotationOf(body, now());
      const webhook_secret = newWebhookSecret();
      existing(await store.applications.rotateWebhookSecret(id, webhook_secret, rotation));
      return { id, webhook_secret, overlap_until: overlapEnd(rotation) };
    },
    {
      roles: operators,
      params: ApplicationParams,
      body: Type.Optional(RotationInput),
      response: {
        200: newSecretAnswer("NewWebhookSecret", { webhook_secret: secret }, { webhook_secret: "whsec_…" }),
      },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "rotateWebhookSecret",
        tags: ["Applications"],
        description:
          "Creates a new webhook secret, which is shown only once. During the overlap, every delivery is signed with the new and the older secrets.",
      },
    },
  );
}
