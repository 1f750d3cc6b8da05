import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { admin, dataOf } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { type Loaded, useLoad } from "../../load.ts";
import type { ConsoleSession } from "../../session.ts";

/** The role of the signed-in operator. The pages only hide controls by it; the server checks each request. */
export interface Operator {
  readonly role: ConsoleSession["key"]["role"];
  /** Whether applications, keys and other objects may be changed. */
  readonly canChange: boolean;
}

const Context = createContext<Operator>({ role: "reader", canChange: false });
export const OperatorProvider = Context.Provider;

export function useOperator(): Operator {
  return useContext(Context);
}

/** The event types that can be published. */
export function useCatalogue(): Loaded<readonly components["schemas"]["CatalogueEntry"][]> {
  return useLoad((signal) => dataOf(admin.GET("/admin/v1/catalogue", { signal })), [], ["event-types"]);
}
