import { Type } from "@sinclair/typebox";
import { isoTimeOrNull } from "../../../domain/time.ts";
import { nullable } from "../../../domain/validation/fields.ts";
import { answer } from "../../answers.ts";
import { IsoTimestamp } from "../../fields.ts";
import { readers } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const Backlog = answer(
  {
    pending: Type.Integer({
      minimum: 0,
      description: "Number of pending deliveries; 500000 means 500000 or more.",
    }),
    oldest_pending_at: nullable(IsoTimestamp, {
      description: "Time at which the oldest of them was published; null if none is pending.",
    }),
  },
  {
    name: "Backlog",
    description: "The pending deliveries of all applications.",
    example: { pending: 12, oldest_pending_at: "2026-01-14T16:08:06.123Z" },
  },
);

/** Get Backlog: the number of pending deliveries, and the age of the oldest. */
export function backlogRoute(app: AdminListener, { store }: AdminDeps): void {
  app.get(
    "/admin/v1/backlog",
    async () => {
      const { pending, oldest_pending_at } = await store.deliveries.backlogOfAll();
      return { pending, oldest_pending_at: isoTimeOrNull(oldest_pending_at) };
    },
    {
      roles: readers,
      response: { 200: Backlog },
      detail: {
        operationId: "getBacklog",
        tags: ["Deliveries"],
        description:
          "Returns the number of pending deliveries of all applications, and the publishing time of the oldest. `/metrics` has the same values.",
      },
    },
  );
}
