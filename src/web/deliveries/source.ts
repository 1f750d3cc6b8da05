import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { components, operations } from "../../client/api.d.ts";
import { admin, api, dataOf, done } from "../client.ts";
import type { components as AdminComponents, operations as AdminOperations } from "../generated/admin.d.ts";

/*
 * The delivery log of either listener, for pages that are both in the portal and in the console.
 */

type Schemas = components["schemas"];
export type Delivery = Schemas["Delivery"] & {
  readonly app_id?: AdminComponents["schemas"]["Delivery"]["app_id"];
};
export type SentDelivery = Schemas["SentDelivery"] & { readonly app_id?: string };
export type Attempt = Schemas["SentAttempt"];
export type Replay = Schemas["Replay"];
export type ReplayInput = Schemas["ReplayInput"] & { readonly application_id?: string };
export type DeliveryQuery = NonNullable<operations["getDeliveries"]["parameters"]["query"]> &
  NonNullable<AdminOperations["getDeliveries"]["parameters"]["query"]>;

interface DeliverySource {
  /** Whether the user may send deliveries again. */
  readonly canSend: boolean;
  /** Whether the log contains the deliveries of all applications. */
  readonly isOfAll: boolean;
  list(query: DeliveryQuery, signal: AbortSignal): Promise<Schemas["DeliveryPage"]>;
  get(id: string, signal: AbortSignal): Promise<SentDelivery>;
  retry(id: string): Promise<unknown>;
  replay(input: ReplayInput): Promise<Replay>;
  replayOf(id: string): Promise<Replay>;
  cancelReplay(id: string): Promise<unknown>;
}

const path = <Id extends string>(id: Id) => ({ params: { path: { id } } });

/** The deliveries of the signed-in application. */
export const ownDeliveries: DeliverySource = {
  canSend: true,
  isOfAll: false,
  list: (query, signal) => done(api.GET("/public/v1/events/deliveries", { params: { query }, signal })),
  get: (id, signal) => dataOf(api.GET("/public/v1/events/deliveries/{id}", { ...path(id), signal })),
  retry: (id) => done(api.POST("/public/v1/events/deliveries/{id}/retry", path(id))),
  replay: (body) => dataOf(api.POST("/public/v1/events/replays", { body })),
  replayOf: (id) => dataOf(api.GET("/public/v1/events/replays/{id}", path(id))),
  cancelReplay: (id) => done(api.DELETE("/public/v1/events/replays/{id}", path(id))),
};

/** The deliveries of all applications. */
export const allDeliveries = (canSend: boolean): DeliverySource => ({
  canSend,
  isOfAll: true,
  list: (query, signal) => done(admin.GET("/admin/v1/deliveries", { params: { query }, signal })),
  get: (id, signal) => done(admin.GET("/admin/v1/deliveries/{id}", { ...path(id), signal })),
  retry: (id) => done(admin.POST("/admin/v1/deliveries/{id}/retry", path(id))),
  replay: ({ application_id = "", ...body }) =>
    done(admin.POST("/admin/v1/replays", { body: { application_id, ...body } })),
  replayOf: (id) => done(admin.GET("/admin/v1/replays/{id}", path(id))),
  cancelReplay: (id) => done(admin.DELETE("/admin/v1/replays/{id}", path(id))),
});

const Source = createContext<DeliverySource>(ownDeliveries);
export const DeliverySourceProvider = Source.Provider;

export function useDeliveries(): DeliverySource {
  return useContext(Source);
}
