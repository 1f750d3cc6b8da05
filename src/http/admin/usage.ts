import { answer } from "../answers.ts";
import { existing } from "../errors.ts";
import {
  exampleOwnApplication,
  OwnApplicationSchema,
  shownSecret,
} from "../public/application/application-fields.ts";
import { readers } from "./access.ts";
import { ApplicationParams, exampleApplication } from "./application-fields.ts";
import type { AdminDeps, AdminListener } from "./base.ts";

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
