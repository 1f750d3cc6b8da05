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
        "When the backup was restored, or the server started with the option; null: they are sent.",
    }),
  },
  {
    name: "DeliveryHold",
    description: "Whether deliveries are held.",
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
          "Whether nothing is sent for now: a restored backup is held until it is released, because the server that it is a copy of may be sending the same. So is a server with `--hold-deliveries`.",
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
      response: { 204: noContent("What is due is sent, within two seconds.") },
      detail: {
        operationId: "releaseDeliveries",
        tags: ["Deliveries"],
        description:
          "Lets what is held be sent: first make sure that no other server of the same data runs. It does nothing where nothing is held.",
      },
    },
  );
}
