import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { type Rotation, rotationLimits } from "../../domain/applications.ts";
import { isoTime, second } from "../../domain/time.ts";
import { newSecret, secretHash } from "../../domain/tokens.ts";
import type { Store } from "../../store/store.ts";
import { newWebhookSecret } from "../../webhooks/signature.ts";
import { answer } from "../answers.ts";
import { IsoTimestamp, noOtherFields } from "../fields.ts";
import { operators } from "./access.ts";
import { ApplicationParams, ApplicationSchema, exampleApplication, existing } from "./application-fields.ts";
import type { AdminListener } from "./base.ts";

const RotationInput = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: rotationLimits.maxOverlapSeconds,
        default: rotationLimits.defaultOverlapSeconds,
        description: "For how long every older secret stays good, at most; 0: it ends at once.",
      }),
    ),
  },
  {
    $id: "RotationInput",
    description: "How long the older secrets stay good.",
    ...noOtherFields,
    examples: [{ overlap_seconds: 3600 }],
  },
);

const secret = Type.String({ description: "Shown only here." });

/** The answer schema of a rotation, with the new secret in the named field. */
function newSecretAnswer<Field extends TProperties>(name: string, field: Field, example: object) {
  const { id } = ApplicationSchema.properties;
  const overlap_until = Type.Union([IsoTimestamp, Type.Null()], {
    description: "Until then older secrets are good, too; null: they are not.",
  });
  return answer(
    { id, ...field, overlap_until },
    {
      name,
      description: "The new secret.",
      example: { id: exampleApplication.id, ...example, overlap_until: "2026-01-14T17:08:06.123Z" },
    },
  );
}

interface SecretRouteOptions {
  readonly store: Store;
  readonly now: () => number;
}

/** Rotate the secrets of an application. */
export function secretRoutes(app: AdminListener, { store, now }: SecretRouteOptions): void {
  const rotationOf = ({ overlap_seconds }: Static<typeof RotationInput>): Rotation => {
    return { now: now(), overlapMs: (overlap_seconds ?? rotationLimits.defaultOverlapSeconds) * second };
  };
  const endOf = ({ now: at, overlapMs }: Rotation) => (overlapMs === 0 ? null : isoTime(at + overlapMs));

  app.post(
    "/admin/v1/applications/:id/client-secret",
    async ({ params: { id }, body }) => {
      const rotation = rotationOf(body ?? {});
      const client_secret = newSecret("onair_cs_");
      existing(await store.applications.rotateClientSecret(id, secretHash(client_secret), rotation));
      return { id, client_secret, overlap_until: endOf(rotation) };
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
        summary: "Rotate Client Secret",
        description:
          "Makes a new secret, which is shown only now. While the overlap lasts, both are accepted.",
      },
    },
  );

  app.post(
    "/admin/v1/applications/:id/webhook-secret",
    async ({ params: { id }, body }) => {
      const rotation = rotationOf(body ?? {});
      const webhook_secret = newWebhookSecret();
      existing(await store.applications.rotateWebhookSecret(id, webhook_secret, rotation));
      return { id, webhook_secret, overlap_until: endOf(rotation) };
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
        summary: "Rotate Webhook Secret",
        description:
          "Makes a new secret, which is shown only now. While the overlap lasts, every delivery is signed with both.",
      },
    },
  );
}
