import { Type } from "@sinclair/typebox";
import { newId } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, scopes, secretHash } from "../../domain/tokens.ts";
import type { Store } from "../../store/store.ts";
import { newWebhookSecret } from "../../webhooks/signature.ts";
import { readJson } from "../body.ts";
import { type Cursors, Pagination } from "../cursors.ts";
import { reply, replyJson } from "../exchange.ts";
import { answer, Message } from "../public/reference.ts";
import {
  ApplicationChangesInput,
  ApplicationId,
  ApplicationInput,
  ApplicationSchema,
  checkFields,
  exampleApplication,
  existing,
  NewApplicationSchema,
  readApplicationId,
  shown,
  unknownApplication,
} from "./application-fields.ts";
import type { AdminListener } from "./base.ts";
import { idList } from "./paging.ts";
import { adminOperation, closed, linksTo } from "./reference.ts";

const list = idList("applications");

export interface ApplicationRouteOptions {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly now: () => number;
  readonly allowPrivateWebhooks: boolean;
}

/** Create, list, get, change and delete applications of third parties. */
export function applicationRoutes(app: AdminListener, options: ApplicationRouteOptions): void {
  const { store, cursors, now, allowPrivateWebhooks } = options;
  const path = "/admin/v1/applications";
  const tag = "Applications";

  app.post(
    path,
    async ({ exchange, request }) => {
      const input = await readJson(request, ApplicationInput);
      const { client_type = "confidential" } = input;
      const { scopes: asked = scopes, ...checked } = checkFields(input, client_type, allowPrivateWebhooks);
      const secret = client_type === "public" ? null : newSecret("onair_cs_");
      const webhook_secret = newWebhookSecret();
      const at = isoTime(now());
      const application = {
        id: newId(),
        name: input.name.toWellFormed(),
        client_type,
        delivery: checked.delivery ?? "webhook",
        webhook_url: checked.webhook_url ?? null,
        webhook_secret,
        scopes: asked,
        redirect_uris: checked.redirect_uris ?? [],
        rate_limit: checked.rate_limit ?? null,
        subscription_limit: checked.subscription_limit ?? null,
        webhook_concurrency: checked.webhook_concurrency ?? null,
        created_at: at,
        updated_at: at,
      };
      await store.applications.create({
        ...application,
        client_secret_hash: secret === null ? null : secretHash(secret),
      });
      const created = shown({ ...application, disabled: false });
      return replyJson(exchange, 201, { ...created, client_secret: secret, webhook_secret });
    },
    adminOperation({
      id: "createApplication",
      tag,
      summary: "Create Application",
      description:
        "Makes an application with a client secret and a webhook secret, which are shown only now.",
      body: {
        json: {
          schema: ApplicationInput,
          example: { name: "My bot", webhook_url: "https://bot.example/webhook" },
        },
      },
      answers: {
        201: answer("The application and its secrets.", {
          schema: NewApplicationSchema,
          links: linksTo({
            getApplication: "The application without its secrets.",
            changeApplication: "Changes the application.",
            createToken: "Makes an access token of the application.",
            deleteApplication: "Deletes the application.",
          }),
          example: {
            ...exampleApplication,
            client_secret: "onair_cs_…",
            webhook_secret: "whsec_…",
          },
        }),
      },
    }),
  );

  app.get(
    path,
    async ({ exchange, request }) => {
      const { limit, after } = list.read(request.url, cursors);
      const found = await store.applications.page(after, limit + 1);
      const { rows, pagination } = list.page(found, limit, cursors, ({ id }) => id);
      return replyJson(exchange, 200, { data: rows.map(shown), pagination, message: "OK" });
    },
    adminOperation({
      id: "getApplications",
      tag,
      summary: "List Applications",
      description: "All applications, the oldest first. On the last page `cursor` is empty.",
      query: list.query,
      answers: {
        200: answer("A page of applications, without their secrets.", {
          schema: Type.Object(
            {
              data: Type.Array(ApplicationSchema, { description: "The oldest first." }),
              pagination: Pagination,
              message: Message,
            },
            { $id: "ApplicationPage", description: "A page of applications.", ...closed },
          ),
          example: {
            data: [exampleApplication],
            pagination: { cursor: "", has_more: false },
            message: "OK",
          },
        }),
      },
      errors: ["invalid_cursor"],
    }),
  );

  app.get(
    `${path}/:id`,
    async ({ exchange, params }) => {
      const found = await store.applications.find(readApplicationId(params.id));
      return replyJson(exchange, 200, shown(existing(found)));
    },
    adminOperation({
      id: "getApplication",
      tag,
      summary: "Get Application",
      description: "One application, without its secrets.",
      params: ApplicationId,
      answers: {
        200: answer("The application.", { schema: ApplicationSchema, example: exampleApplication }),
      },
      errors: ["not_found"],
    }),
  );

  app.patch(
    `${path}/:id`,
    async ({ exchange, request, params }) => {
      const id = readApplicationId(params.id);
      const input = await readJson(request, ApplicationChangesInput);
      const { client_type } = existing(await store.applications.find(id));
      const changes = checkFields(input, client_type, allowPrivateWebhooks);
      const changed = existing(await store.applications.update(id, changes, now()));
      return replyJson(exchange, 200, shown(changed));
    },
    adminOperation({
      id: "changeApplication",
      tag,
      summary: "Change Application",
      description:
        "Changes the fields that the body names. They hold for every request and every delivery that starts after the answer.",
      params: ApplicationId,
      body: { json: { schema: ApplicationChangesInput, example: { rate_limit: 6000 } } },
      answers: {
        200: answer("The application as it is now.", {
          schema: ApplicationSchema,
          example: { ...exampleApplication, rate_limit: 6000 },
        }),
      },
      errors: ["not_found"],
    }),
  );

  app.delete(
    `${path}/:id`,
    async ({ exchange, params }) => {
      const removed = await store.applications.remove(readApplicationId(params.id), now());
      if (!removed) throw unknownApplication();
      return reply(exchange, 204, null);
    },
    adminOperation({
      id: "deleteApplication",
      tag,
      summary: "Delete Application",
      description:
        "Deletes the application, its tokens and its subscriptions, and cancels its pending deliveries. It cannot be undone; `disabled` can.",
      params: ApplicationId,
      answers: { 204: answer("It is gone.") },
      errors: ["not_found"],
    }),
  );
}
