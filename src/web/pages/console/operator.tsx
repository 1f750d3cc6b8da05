import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { admin, dataOf } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { type Loaded, useLoad } from "../../load.ts";
import { Head, Notice } from "../../parts/basics.tsx";
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

interface AllowedProps {
  readonly roles: readonly Operator["role"][];
  /** What the children do: "publish events". */
  readonly to: string;
  readonly children?: ComponentChildren;
}

const powers: Readonly<Record<Operator["role"], string>> = {
  operator: "can do everything",
  publisher: "has access to the platform's data and events only",
  reader: "can view everything and change nothing",
};

/** Renders its children for these roles. For others it says why they may not do this, and who may. */
export function Allowed({ roles, to, children }: AllowedProps) {
  const { role } = useOperator();
  if (roles.includes(role)) return <>{children}</>;
  return (
    <Notice title={`Your key has the role ${role}, which ${powers[role]}.`}>
      <p>
        To {to}, sign in with a key of the role {roles.join(" or ")}.
      </p>
    </Notice>
  );
}

/** The roles that may write the platform's data. */
export const writers = ["operator", "publisher"] as const;
/** The roles that may see applications, deliveries and the server. */
const readers = ["operator", "reader"] as const;

/** The page in place of one that the role may not see. */
export function Refused() {
  return (
    <>
      <Head title="Not for this key" />
      <Allowed roles={readers} to="see this page" />
    </>
  );
}

/** The event types that can be published. */
export function useCatalogue(): Loaded<readonly components["schemas"]["CatalogueEntry"][]> {
  return useLoad((signal) => dataOf(admin.GET("/admin/v1/catalogue", { signal })), [], ["event-types"]);
}
