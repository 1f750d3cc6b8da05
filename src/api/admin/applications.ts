import { type TProperties, Type } from "@sinclair/typebox";
import { newWebhookSecret } from "../../delivery/signature.ts";
import {
  type Application,
  applicationState,
  applicationStates,
  type HashedSecret,
  secretPrefix,
} from "../../domain/applications.ts";
import { applicationChange } from "../../domain/audit.ts";
import { endpointStatus, newEndpoint } from "../../domain/endpoints.ts";
import { invalidField } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { changedFilters } from "../../domain/filters.ts";
import { newId } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, scopes, secretHash } from "../../domain/tokens.ts";
import { oneOf } from "../../domain/validation/fields.ts";
import { changedWebhookHeaders } from "../../domain/webhook-headers.ts";
import { answer, answerOf, linksTo, noContent, pageOf } from "../http/answers.ts";
import { pagedList } from "../http/cursors.ts";
import { existing, notFound } from "../http/errors.ts";
import {
  ChoiceParameter,
  comparedPlainly,
  IdParameter,
  ListParameter,
  noOtherFields,
  optionalFields,
  TextParameter,
} from "../http/parameters.ts";
import {
  exampleOwnApplication,
  OverlapUntil,
  OwnApplicationSchema,
  overlapEnd,
  rotationChange,
  rotationFields,
  rotationOf,
  shownSecret,
} from "../public/application.ts";
import {
  FilterTestSchema,
  filterTestAnswer,
  filterTester,
  filterTestFields,
  filterTestInput,
} from "../public/filters.ts";
import {
  ApplicationChangesInput,
  ApplicationIdParameter,
  ApplicationInput,
  ApplicationParams,
  ApplicationSchema,
  checkFields,
  exampleApplication,
  NewApplicationSchema,
  shownApplication,
} from "./application-fields.ts";
import { EndpointSchema } from "./endpoints.ts";
import { type AdminDeps, type AdminListener, operators, readers } from "./listener.ts";

const NewApplication = answerOf(NewApplicationSchema, {
  description: "The application and its secrets.",
  links: linksTo({
    getApplication: "Gets the application without its secrets.",
    changeApplication: "Changes the application.",
    createToken: "Creates an access token of the application.",
    deleteApplication: "Deletes the application.",
  }),
  example: { ...exampleApplication, client_secret: "onair_cs_…", webhook_secret: "whsec_…" },
});

const state = oneOf(applicationStates, {
  description:
    "How the application's events are handled: its endpoint is `enabled`, `failing` or `disabled`, an operator has disabled the application, it has no webhook URL, or it uses only the event stream.",
});

const endpoint = Type.Pick(EndpointSchema, ["status", "disabled_reason"], {
  $id: "EndpointState",
  description: "The state of its endpoint.",
});

const Applications = pageOf(
  Type.Composite([ApplicationSchema, Type.Object({ state, endpoint })], {
    $id: "ListedApplication",
    description: "An application of a third party, with the state of its deliveries.",
    ...noOtherFields,
  }),
  {
    order: "Applications, the oldest first.",
    name: "ApplicationPage",
    description: "A page of applications, without their secrets.",
    example: {
      ...exampleApplication,
      state: "enabled",
      endpoint: { status: "enabled", disabled_reason: null },
    },
  },
);

const FoundApplication = answerOf(ApplicationSchema, {
  description: "The application.",
  example: exampleApplication,
});

const ChangedApplication = answerOf(ApplicationSchema, {
  description: "The changed application.",
  example: { ...exampleApplication, rate_limit: 6000 },
});

const ApplicationFilterParameters = optionalFields({
  name: TextParameter({
    allowEmptyValue: true,
    maxLength: 100,
    description: `Returns only applications whose name contains this text. ${comparedPlainly}`,
  }),
  find: TextParameter({
    allowEmptyValue: true,
    maxLength: 2048,
    description: "Returns only applications whose name or webhook URL contains this text, or whose id it is.",
  }),
  owner_user_id: IdParameter("owner", exampleUser.id),
  state: ChoiceParameter(applicationStates, { description: "Returns only applications in this state." }),
  id: ListParameter({
    items: ApplicationIdParameter,
    minItems: 1,
    maxItems: 100,
    description: "Returns only applications with one of these ids.",
  }),
});

/** Applications of third parties: create, list, get, change and delete. */
export function applicationRoutes(app: AdminListener, options: AdminDeps): void {
  const { store, cursors, now } = options;
  const list = pagedList("applications", cursors);

  /** Throws `invalid_parameter` if the owner is not a known user. */
  const checkOwner = async ({ owner_user_id: owner = null }: { owner_user_id?: number | null }) => {
    if (owner === null || (await store.users.exists(owner))) return;
    throw invalidField("body", "owner_user_id", "is not a known user");
  };

  app.post(
    "/admin/v1/applications",
    async ({ body, status, requestContext }) => {
      const { client_type = "confidential", ...fields } = body;
      const { scopes: requested = scopes, ...checked } = checkFields(fields, client_type, options);
      await checkOwner(checked);
      const secret = client_type === "public" ? null : newSecret("onair_cs_");
      const webhook_secret = newWebhookSecret();
      const at = isoTime(now());
      const application = {
        id: newId(),
        name: body.name.toWellFormed(),
        client_type,
        delivery: checked.delivery ?? "webhook",
        webhook_url: checked.webhook_url ?? null,
        webhook_headers: changedWebhookHeaders({ webhook_url: null, webhook_headers: [] }, checked),
        webhook_secret,
        filters: changedFilters({}, checked.filters ?? null, now()),
        scopes: requested,
        redirect_uris: checked.redirect_uris ?? [],
        rate_limit: checked.rate_limit ?? null,
        subscription_limit: checked.subscription_limit ?? null,
        webhook_concurrency: checked.webhook_concurrency ?? null,
        locked: checked.locked ?? [],
        owner_user_id: checked.owner_user_id ?? null,
        created_at: at,
        updated_at: at,
      };
      await store.applications.create({
        ...application,
        client_secret_hash: secret === null ? null : secretHash(secret),
        client_secret_prefix: secret === null ? "" : secretPrefix(secret),
      });
      requestContext.change = applicationChange(null, application);
      const created = shownApplication({ ...application, disabled: false });
      return status(201, { ...created, client_secret: secret, webhook_secret });
    },
    {
      roles: operators,
      body: ApplicationInput,
      response: { 201: NewApplication },
      detail: {
        operationId: "createApplication",
        tags: ["Applications"],
        description:
          "Creates an application with a client secret and a webhook secret, which are shown only once.",
      },
    },
  );

  app.get(
    "/admin/v1/applications",
    async ({ query }) => {
      const { limit, cursor, id: ids, ...others } = query;
      const filter = { ...others, ...(ids && { ids }) };
      const read = (after: string | null, limit: number) =>
        store.applications.page(after ?? "", limit, filter);
      const troubled = new Map(
        (await store.endpoints.failing()).map((endpoint) => [endpoint.application_id, endpoint]),
      );
      const listed = (application: Application) => {
        const endpoint = troubled.get(application.id) ?? newEndpoint(application.id);
        const status = endpointStatus(endpoint);
        const { disabled_reason } = endpoint;
        return {
          ...shownApplication(application),
          state: applicationState(application, status),
          endpoint: { status, disabled_reason },
        };
      };
      return list.page(query, { read, positionOf: ({ id }) => id, toJson: listed });
    },
    {
      roles: readers,
      query: Type.Object({ ...ApplicationFilterParameters, ...list.query.properties }),
      response: { 200: Applications },
      detail: {
        operationId: "getApplications",
        tags: ["Applications"],
        summary: "List Applications",
        description:
          "Returns the applications that match all given filters, the oldest first. On the last page, `cursor` is empty.",
      },
    },
  );

  app.get(
    "/admin/v1/applications/:id",
    async ({ params: { id } }) => shownApplication(existing(await store.applications.find(id))),
    {
      roles: readers,
      params: ApplicationParams,
      response: { 200: FoundApplication },
      errors: ["not_found"],
      detail: {
        operationId: "getApplication",
        tags: ["Applications"],
        description: "Returns one application, without its secrets.",
      },
    },
  );

  app.patch(
    "/admin/v1/applications/:id",
    async ({ params: { id }, body, requestContext }) => {
      const before = existing(await store.applications.find(id));
      const changes = checkFields(body, before.client_type, options);
      await checkOwner(changes);
      const changed = existing(await store.applications.update(id, changes, now()));
      requestContext.change = applicationChange(before, changed);
      return shownApplication(changed);
    },
    {
      roles: operators,
      params: ApplicationParams,
      body: ApplicationChangesInput,
      response: { 200: ChangedApplication },
      errors: ["not_found"],
      detail: {
        operationId: "changeApplication",
        tags: ["Applications"],
        description:
          "Changes the fields in the body. The change applies to every request and delivery that starts after the response.",
      },
    },
  );

  app.delete(
    "/admin/v1/applications/:id",
    async ({ params: { id }, status, requestContext }) => {
      const before = await store.applications.find(id);
      if (!(await store.applications.remove(id, now()))) throw notFound("application");
      requestContext.change = applicationChange(before, null);
      return status(204, undefined);
    },
    {
      roles: operators,
      params: ApplicationParams,
      response: { 204: noContent("The application was deleted.") },
      errors: ["not_found"],
      detail: {
        operationId: "deleteApplication",
        tags: ["Applications"],
        description:
          "Deletes the application, its tokens and its subscriptions, and cancels its pending deliveries. This cannot be undone; to stop an application temporarily, set `disabled`.",
      },
    },
  );
}

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
    async ({ params: { id }, body, requestContext }) => {
      const rotation = rotationOf(body, now());
      const client_secret = newSecret("onair_cs_");
      const next = hashed(client_secret);
      const { name } = existing(await store.applications.rotateClientSecret(id, next, rotation));
      requestContext.change = rotationChange(name, rotation);
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
    async ({ params: { id }, body, requestContext }) => {
      const rotation = rotationOf(body, now());
      const webhook_secret = newWebhookSecret();
      const { name } = existing(await store.applications.rotateWebhookSecret(id, webhook_secret, rotation));
      requestContext.change = rotationChange(name, rotation);
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

const { id, rate_limit, subscriptions, secrets } = OwnApplicationSchema.properties;

const Usage = answer(
  { id, rate_limit, subscriptions, secrets },
  {
    name: "ApplicationUsage",
    description: "The usage of the application.",
    example: {
      id: exampleApplication.id,
      rate_limit: exampleOwnApplication.rate_limit,
      subscriptions: exampleOwnApplication.subscriptions,
      secrets: exampleOwnApplication.secrets,
    },
  },
);

/** Get Usage: an application's use of its limits, and the age of its secrets. */
export function usageRoutes(app: AdminListener, { store, facts, now }: AdminDeps): void {
  app.get(
    "/admin/v1/applications/:id/usage",
    async ({ params }) => {
      const application = existing(await store.applications.find(params.id));
      const { id, subscription_limit } = application;
      const state = facts.rateLimit(application);
      const [inForce, used] = await Promise.all([
        store.applications.secretsInForce(id, now()),
        store.subscriptions.count(id),
      ]);
      return {
        id,
        rate_limit: { limit: state?.limit ?? 0, remaining: state?.remaining ?? null },
        subscriptions: { used, limit: subscription_limit ?? facts.subscriptionLimit },
        secrets: inForce.map(shownSecret),
      };
    },
    {
      roles: readers,
      params: ApplicationParams,
      response: { 200: Usage },
      errors: ["not_found"],
      detail: {
        operationId: "getUsage",
        tags: ["Applications"],
        description:
          "Returns the remaining rate limit of an application, its number of subscriptions and their limit, and the prefix and age of its secrets.",
      },
    },
  );
}

/** What a filter of an application would let through. */
export function filterRoutes(app: AdminListener, deps: AdminDeps): void {
  const test = filterTester(deps);
  app.post(
    "/admin/v1/applications/:id/filters/test",
    async ({ params: { id }, body }) => test(existing(await deps.store.applications.find(id)), body),
    {
      roles: operators,
      params: ApplicationParams,
      body: Type.Object(filterTestFields, { ...filterTestInput, ...noOtherFields }),
      response: { 200: answerOf(FilterTestSchema, filterTestAnswer) },
      errors: ["not_found"],
      detail: {
        operationId: "testFilter",
        tags: ["Applications"],
        description:
          "Says which of the application's last deliveries of a type, or of the given samples, a filter would let through: at most 20. It changes nothing. Without `filter` it tests the application's own. A wrong filter is refused with its place, such as `filter.content.$startWith`.",
      },
    },
  );
}
