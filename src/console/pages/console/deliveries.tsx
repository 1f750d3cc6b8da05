import { admin, done } from "../../client.ts";
import { DeliveriesPage } from "../../deliveries/list.tsx";
import type { Delivery } from "../../deliveries/source.ts";
import { useLoad } from "../../load.ts";
import type { Column } from "../../parts/table.tsx";
import { to } from "../../places.ts";
import { useApplicationNames } from "./names.ts";

/** The deliveries of all applications. */
export function Deliveries() {
  const { data } = useLoad(
    async (signal) => (await done(admin.GET("/admin/v1/catalogue", { signal }))).data,
    [],
  );
  return (
    <DeliveriesPage
      types={[...new Set((data ?? []).map(({ name }) => name))]}
      useColumns={useApplicationColumn}
    />
  );
}

function useApplicationColumn(rows: readonly Delivery[]): readonly Column<Delivery>[] {
  const names = useApplicationNames(rows.map(({ app_id = "" }) => app_id));
  return [
    {
      name: "Application",
      hide: "narrow",
      show: ({ app_id = "" }) => (
        <a class="cell" href={to(`/applications/${app_id}`)}>
          {names.get(app_id) ?? app_id}
        </a>
      ),
    },
  ];
}
