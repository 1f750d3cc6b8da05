import { Type } from "@sinclair/typebox";
import {
  type Application,
  applicationState,
  applicationStates,
  secretPrefix,
} from "../../domain/applications.ts";
import { endpointStatus, newEndpoint } from "../../domain/endpoints.ts";
import { invalidFields } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { newId } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, scopes, secretHash } from "../../domain/tokens.ts";
import { oneOf } from "../../domain/validation/fields.ts";
import { changedWebhookHeaders } from "../../domain/webhook-headers.ts";
import { newWebhookSecret } from "../../webhooks/signature.ts";
import { answerOf, linksTo, noContent, pageOf } from "../answers.ts";
import { existing, notFound } from "../errors.ts";
import { noOtherFields } from "../fields.ts";
import { pagedList } from "../paging.ts";
import {
  ChoiceParameter,
  comparedPlainly,
  IdParameter,
  ListParameter,
  TextParameter,
} from "../parameters.ts";
import { operators, readers } from "./access.ts";
import {
  ApplicationChangesInput,
  ApplicationIdParameter,
  ApplicationInput,
  ApplicationParams,
  ApplicationSchema,
  checkFields,
  exampleApplication,
  NewApplicationSchema,
  shown,
} from "./application-fields.ts";
import type { AdminDeps, AdminListener } from "./base.ts";
import { EndpointSchema } from "./events/endpoints.ts";

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

const ApplicationFilterParameters = {
  name: Type.Optional(
    TextParameter({
      allowEmptyValue: true,
      maxLength: 100,
      description: `Returns only applications whose name contains this text. ${comparedPlainly}`,
    }),
  ),
  find: Type.Optional(
    TextParameter({
      allowEmptyValue: true,
      maxLength: 2048,
      description:
        "Returns only applications whose name or webhook URL contains this text, or whose id it is.",
    }),
  ),
  owner_user_id: Type.Optional(IdParameter("owner", exampleUser.id)),
  state: Type.Optional(
    ChoiceParameter(applicationStates, { description: "Returns only applications in this state." }),
  ),
  id: Type.Optional(
    ListParameter({
      items: ApplicationIdParameter,
      minItems: 1,
      maxItems: 100,
      description: "Returns only applications with one of these ids.",
    }),
  ),
};

/** Applications of third parties: create, list, get, change and delete. */
export function applicationRoutes(app: AdminListener, options: AdminDeps): void {
  const { store, cursors, now, allowPrivateWebhooks } = options;
  const list = pagedList("applications", cursors);

  /** Throws `invalid_parameter` if the owner is not a known user. */
  const checkOwner = async ({ owner_user_id: owner = null }: { owner_user_id?: number | null }) => {
    if (owner === null || (await store.users.exists(owner))) return;
    throw invalidFields([{ in: "body", field: "owner_user_id", message: "is not a known user" }]);
  };

  app.post(
    "/admin/v1/applications",
    async ({ body, status }) => {
      const { client_type = "confidential", ...fields } = body;
      const { scopes: requested = scopes, ...checked } = checkFields(
        fields,
        client_type,
        allowPrivateWebhooks,
      );
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
      const created = shown({ ...application, disabled: false });
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
      const { name, find, owner_user_id, state, id: ids } = query;
      const filter = {
        ...(name && { name }),
        ...(find && { find }),
        ...(owner_user_id !== undefined && { owner_user_id }),
        ...(state && { state }),
        ...(ids && { ids }),
      };
      const read = (after: string | null, limit: number) =>
        store.applications.page(after ?? "", limit, filter);
      const troubled = new Map((await store.endpoints.failing()).map((one) => [one.application_id, one]));
      const listed = (one: Application) => {
        const endpoint = troubled.get(one.id) ?? newEndpoint(one.id);
        const status = endpointStatus(endpoint);
        const { disabled_reason } = endpoint;
        return { ...shown(one), state: applicationState(one, status), endpoint: { status, disabled_reason } };
      };
      return list.page(query, { read, positionOf: ({ id }) => id, shown: listed });
    },
    {
      roles: readers,
      query: Type.Object({ ...ApplicationFilterParameters, ...list.query.properties }),
      response: { 200: Applications },
      errors: ["invalid_cursor"],
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
    async ({ params: { id } }) => shown(existing(await store.applications.find(id))),
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
    async ({ params: { id }, body }) => {
      const { client_type } = existing(await store.applications.find(id));
      const changes = checkFields(body, client_type, allowPrivateWebhooks);
      await checkOwner(changes);
      return shown(existing(await store.applications.update(id, changes, now())));
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
    async ({ params: { id }, status }) => {
      if (!(await store.applications.remove(id, now()))) throw notFound("application");
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
