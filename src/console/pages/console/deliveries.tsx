import { admin, done } from "../../client.ts";
import { DeliveriesPage } from "../../deliveries/list.tsx";
import { useLoad } from "../../load.ts";

/** The deliveries of all applications. */
export function Deliveries() {
  const { data } = useLoad(
    async (signal) => (await done(admin.GET("/admin/v1/catalogue", { signal }))).data,
    [],
  );
  return <DeliveriesPage types={[...new Set((data ?? []).map(({ name }) => name))]} />;
}
