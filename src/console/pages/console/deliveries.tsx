import { admin, done } from "../../client.ts";
import { DeliveriesPage } from "../../deliveries/list.tsx";
import type { Delivery } from "../../deliveries/source.ts";
import { useLoad } from "../../load.ts";
import type { Column } from "../../parts/table.tsx";
import { to } from "../../places.ts";
import { useApplicationNames } from "./names.ts";

/** The deliveries of all applications. */
export function Deliveries() {
  const names = useApplicationNames();
  const { data } = useLoad(
    async (signal) => (await done(admin.GET("/admin/v1/catalogue", { signal }))).data,
    [],
  );
  const application: Column<Delivery> = {
    name: "Application",
    hide: "narrow",
    show: ({ app_id = "" }) => (
      <a class="cell" href={to(`/applications/${app_id}`)}>
        {names.get(app_id) ?? app_id}
      </a>
    ),
  };
  return (
    <DeliveriesPage types={[...new Set((data ?? []).map(({ name }) => name))]} columns={[application]} />
  );
}
