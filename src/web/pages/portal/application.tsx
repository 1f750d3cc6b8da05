import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import type { components } from "../../../client/api.d.ts";
import { api, dataOf } from "../../client.ts";
import { type Loaded, useLoad } from "../../load.ts";
import { FaultNotice, Head, Loading } from "../../parts/basics.tsx";

export type OwnApplication = components["schemas"]["OwnApplication"];
export type EventType = components["schemas"]["EventType"];

interface Known {
  readonly application: OwnApplication;
  reload(): void;
}

const Context = createContext<Known | null>(null);

/** Provides the signed-in application to all pages of the portal. */
export function PortalApplication({ children }: { children: ComponentChildren }) {
  const application: Loaded<OwnApplication> = useLoad(
    (signal) => dataOf(api.GET("/public/v1/application", { signal })),
    [],
    ["applications", "deliveries", "subscriptions"],
  );
  if (!application.data) {
    if (!application.fault) return <Loading />;
    return (
      <>
        <Head title="Your application" />
        <FaultNotice fault={application.fault} retry={application.reload} />
      </>
    );
  }
  const known = { application: application.data, reload: application.reload };
  return <Context.Provider value={known}>{children}</Context.Provider>;
}

export function useApplication(): Known {
  const known = useContext(Context);
  if (!known) throw new Error("This page is outside of PortalApplication");
  return known;
}

export function useEventTypes(): Loaded<readonly EventType[]> {
  return useLoad((signal) => dataOf(api.GET("/public/v1/events/types", { signal })), [], ["event-types"]);
}
