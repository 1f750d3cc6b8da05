import { nullable } from "../../../domain/validation/fields.ts";
import { heldSetting } from "../../../store/settings.ts";
import { answer, noContent } from "../../answers.ts";
import { IsoTimestamp } from "../../fields.ts";
import { operators, readers } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const Hold = answer(
  {
    held_since: nullable(IsoTimestamp, {
      description:
        "Time at which the backup was restored, or the server was started with `--hold-deliveries`; null if deliveries are not held.",
    }),
  },
  {
    name: "DeliveryHold",
    description: "The state of the hold.",
    example: { held_since: "2026-01-14T16:08:06.123Z" },
  },
);

/** Whether deliveries are held, and their release. */
export function holdRoutes(app: AdminListener, { store }: AdminDeps): void {
  app.get(
    "/admin/v1/deliveries/hold",
    async () => ({ held_since: (await store.settings.get(heldSetting)) || null }),
    {
      roles: readers,
      response: { 200: Hold },
      detail: {
        operationId: "getDeliveryHold",
        tags: ["Deliveries"],
        description:
          "Returns whether deliveries are held. After a backup is restored, nothing is sent until the hold is released, because the original server may still be sending the same deliveries. A server started with `--hold-deliveries` holds them as well.",
      },
    },
  );

  app.delete(
    "/admin/v1/deliveries/hold",
    async ({ status }) => {
      await store.settings.put(heldSetting, "");
      return status(204, undefined);
    },
    {
      roles: operators,
      response: { 204: noContent("Deliveries that are due are sent within two seconds.") },
      detail: {
        operationId: "releaseDeliveries",
        tags: ["Deliveries"],
        description:
          "Releases held deliveries. First make sure that no other server with the same data is running. Has no effect if deliveries are not held.",
      },
    },
  );
}
