import { Type } from "@sinclair/typebox";
import { type Application, requireUnlocked } from "../../../domain/applications.ts";
import { newEndpoint } from "../../../domain/endpoints.ts";
import { DomainError, invalidFields, ownerGone } from "../../../domain/errors.ts";
import { newWebhookSecret } from "../../../webhooks/signature.ts";
import { dataOf } from "../../answers.ts";
import { named, otherFieldsIgnored } from "../../fields.ts";
import { requireWithinLimit } from "../../rate-limit.ts";
import type { RequestContext } from "../../request-context.ts";
import type { PublicDeps, TokenListener } from "../base.ts";
import {
  exampleOwnApplication,
  OwnApplicationSchema,
  OwnChangesInput,
  shownOwn,
} from "./application-fields.ts";
import { addressProblems } from "./receiving-fields.ts";
import { OverlapUntil, overlapEnd, rotationFields, rotationOf } from "./secret-rotation.ts";

const path = "/public/v1/application";

/** Changes per minute and application. Each one writes, and some make thousands of retries due. */
const changesPerMinute = 30;

/** The number of notices in the response. */
const shownNotices = 5;

const OwnApplication = dataOf(OwnApplicationSchema, {
  description: "The application.",
  example: exampleOwnApplication,
});

const RotationBody = Type.Object(rotationFields, {
  $id: "RotationInput",
  description: "How long older secrets remain valid.",
  ...otherFieldsIgnored,
  examples: [{ overlap_seconds: 3600 }],
});

const NewSecretSchema = named("NewWebhookSecret", "A new webhook secret.", {
  webhook_secret: Type.String({ description: "The new secret. It is shown only once." }),
  overlap_until: OverlapUntil,
});
const NewSecret = dataOf(NewSecretSchema, {
  description: "The new secret.",
  example: { webhook_secret: "whsec_…", overlap_until: "2026-01-14T17:08:06.123Z" },
});

/** Get Application, Change Application, Rotate Webhook Secret and Enable Endpoint. */
export function applicationRoutes(
  app: TokenListener,
  { store, engine, access, now, log, allowPrivateWebhooks, defaultSubscriptionLimit }: PublicDeps,
): void {
  const shown = async (application: Application) => {
    const { id, subscription_limit, rate_limit } = application;
    const [endpoint, notices, secrets, used] = await Promise.all([
      store.endpoints.find(id),
      store.notices.page(id, null, shownNotices),
      store.applications.secretsInForce(id, now()),
      store.subscriptions.count(id),
    ]);
    const subscriptions = { used, limit: subscription_limit ?? defaultSubscriptionLimit() };
    const rateLimit = access.limiter.look(id, rate_limit ?? access.defaultRateLimit);
    const known = { endpoint: endpoint ?? newEndpoint(id), notices, secrets, subscriptions, rateLimit };
    return { data: shownOwn(application, known), message: "OK" };
  };

  /** Takes a change from the application's limit. Throws `rate_limited`. */
  const takeChange = (applicationId: string) =>
    requireWithinLimit(access.limiter.take(`changes of ${applicationId}`, changesPerMinute), "changes");

  /** Adds a change to the audit log. Never rejects, because the change is already stored. */
  const note = async (
    action: string,
    { id, name }: Application,
    requestContext: RequestContext,
    fields: readonly string[] = [],
  ) => {
    const at = now();
    const { requestId: request_id } = requestContext;
    const actor = { actor_kind: "application", actor_id: id, actor_name: name } as const;
    const what = { action, object: "applications", object_id: id, fields };
    const address = requestContext.clientAddress;
    const entry = { at, last_at: at, count: 1, ...actor, ...what, address, request_id };
    await store.audit.add(entry).catch((error) => log.failure("audit_failed", error));
  };

  app.get(path, ({ caller }) => shown(caller.application), {
    application: "reads",
    response: { 200: OwnApplication },
    detail: {
      operationId: "getOwnApplication",
      tags: ["Application"],
      summary: "Get Application",
      description:
        "Returns the application of the token, with the state of its endpoint, its limits, and the prefix and age of its secrets. Requires a token of the application itself (`client_credentials`), with any scope.",
    },
  });

  app.patch(
    path,
    async ({ body, caller: { application }, requestContext }) => {
      const { webhook_url, webhook_headers, delivery, redirect_uris } = body;
      const { id, client_type, locked } = application;
      takeChange(id);
      requireUnlocked(locked, body);
      const wrong = addressProblems(body, client_type, allowPrivateWebhooks);
      if (wrong.length > 0) throw invalidFields(wrong);
      const changes = {
        ...(webhook_url !== undefined && { webhook_url }),
        ...(webhook_headers !== undefined && { webhook_headers }),
        ...(delivery && { delivery }),
        ...(redirect_uris && { redirect_uris }),
      };
      const fields = Object.keys(changes);
      if (fields.length === 0) return shown(application);
      const changed = stillExisting(await store.applications.update(id, changes, now(), "developer"));
      await note("changeOwnApplication", application, requestContext, fields);
      return shown(changed);
    },
    {
      application: "changes",
      body: OwnChangesInput,
      response: { 200: OwnApplication },
      errors: ["locked"],
      detail: {
        operationId: "changeOwnApplication",
        tags: ["Application"],
        summary: "Change Application",
        description: `Changes the fields in the body. The change applies to every delivery that starts after the response. A new webhook URL is a new endpoint: it is enabled, and pending deliveries are sent to it. Values of \`webhook_headers\` are shown masked. A field that the platform has locked causes 403 \`locked\`. Requires a token of the application itself with all of its scopes. At most ${changesPerMinute} changes per minute.`,
      },
    },
  );

  app.post(
    `${path}/webhook-secret`,
    async ({ body, caller: { application }, requestContext }) => {
      takeChange(application.id);
      const rotation = rotationOf(body, now());
      const webhook_secret = newWebhookSecret();
      stillExisting(await store.applications.rotateWebhookSecret(application.id, webhook_secret, rotation));
      await note("rotateOwnWebhookSecret", application, requestContext);
      return { data: { webhook_secret, overlap_until: overlapEnd(rotation) }, message: "OK" };
    },
    {
      application: "changes",
      body: Type.Optional(RotationBody),
      response: { 200: NewSecret },
      errors: ["conflict"],
      detail: {
        operationId: "rotateOwnWebhookSecret",
        tags: ["Application"],
        summary: "Rotate Webhook Secret",
        description:
          "Creates a new webhook secret, which is shown only once. During the overlap, every delivery is signed with the new and the older secrets. Requires a token of the application itself with all of its scopes.",
      },
    },
  );

  app.post(
    `${path}/endpoint/enable`,
    async ({ caller: { application }, requestContext }) => {
      const { id, webhook_url } = application;
      takeChange(id);
      if (webhook_url === null) {
        throw new DomainError(
          "conflict",
          "This application has no webhook URL; set one with PATCH /public/v1/application",
        );
      }
      await engine.enable(id);
      await note("enableOwnEndpoint", application, requestContext);
      return shown(application);
    },
    {
      application: "changes",
      response: { 200: OwnApplication },
      errors: ["conflict"],
      detail: {
        operationId: "enableOwnEndpoint",
        tags: ["Application"],
        summary: "Enable Endpoint",
        description:
          "Enables a disabled or failing endpoint, and makes its pending deliveries due now. Sending begins slowly. An enabled endpoint is not changed. Requires a token of the application itself with all of its scopes.",
      },
    },
  );
}

/** Returns the changed application. Throws if it was deleted during the request. */
function stillExisting(changed: Application | null): Application {
  if (changed === null) throw ownerGone();
  return changed;
}
