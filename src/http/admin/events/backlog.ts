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
      description: "Deliveries that have not come to their end, counted up to half a million.",
    }),
    oldest_pending_at: nullable(IsoTimestamp, { description: "When the oldest of them was published." }),
  },
  {
    name: "Backlog",
    description: "What is pending of all applications.",
    example: { pending: 12, oldest_pending_at: "2026-01-14T16:08:06.123Z" },
  },
);

/** Get Backlog: how many deliveries are pending, and since when. */
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
          "How many deliveries of all applications are pending, and since when the oldest of them is: the figures of `/metrics`.",
      },
    },
  );
}
