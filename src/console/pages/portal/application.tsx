import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import type { components } from "../../../client/api.d.ts";
import { api, done } from "../../client.ts";
import { type Loaded, useLoad } from "../../load.ts";
import { FaultNotice } from "../../parts/basics.tsx";

export type OwnApplication = components["schemas"]["OwnApplication"];
export type EventType = components["schemas"]["EventType"];

interface Known {
  readonly application: OwnApplication;
  readonly types: readonly EventType[];
  reload(): void;
}

const Context = createContext<Known | null>(null);
const everyMs = 5_000;

/** The signed-in application and the event types, for all pages of the portal. */
export function PortalApplication({ children }: { children: ComponentChildren }) {
  const application: Loaded<OwnApplication> = useLoad(
    async (signal) => (await done(api.GET("/public/v1/application", { signal }))).data,
    [],
    everyMs,
  );
  const types = useLoad(
    async (signal) => (await done(api.GET("/public/v1/events/types", { signal }))).data,
    [],
  );
  if (!application.data || !types.data) {
    return <FaultNotice fault={application.fault ?? types.fault} retry={application.reload} />;
  }
  const known = { application: application.data, types: types.data, reload: application.reload };
  return <Context.Provider value={known}>{children}</Context.Provider>;
}

export function useApplication(): Known {
  const known = useContext(Context);
  if (!known) throw new Error("This page is outside of PortalApplication");
  return known;
}
