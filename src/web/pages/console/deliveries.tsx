import { DeliveriesPage } from "../../deliveries/list.tsx";
import { useCatalogue } from "./operator.tsx";

/** The deliveries of all applications. */
export function Deliveries() {
  const { data } = useCatalogue();
  return <DeliveriesPage types={[...new Set((data ?? []).map(({ name }) => name))]} />;
}
