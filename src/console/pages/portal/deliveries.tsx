import { DeliveriesPage } from "../../deliveries/list.tsx";
import { useApplication } from "./application.tsx";

export function Deliveries() {
  const { types } = useApplication();
  return <DeliveriesPage types={[...new Set(types.map(({ name }) => name))]} />;
}
