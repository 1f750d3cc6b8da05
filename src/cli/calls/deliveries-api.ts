import type { Static } from "@sinclair/typebox";
import type { OperatorDeliverySchema, OperatorSentDeliverySchema } from "../../api/public/deliveries.ts";
import type { OperatorReplaySchema } from "../../api/public/replays.ts";
import type { Client } from "../../client/create-client.ts";
import type { ListPage } from "../output/output.ts";
import type { AdminApi, Fields } from "./admin-api.ts";

type OperatorDelivery = Static<typeof OperatorDeliverySchema> &
  Partial<Pick<Static<typeof OperatorSentDeliverySchema>, "request">>;

/** Only operators see the application. */
type WithoutApplication<T extends { app_id: string }> = Omit<T, "app_id"> & Partial<Pick<T, "app_id">>;

/** A delivery of either API; a single delivery also has the last request. */
export type Delivery = WithoutApplication<OperatorDelivery>;

/** A replay of either API. */
export type ReplayAnswer = WithoutApplication<Static<typeof OperatorReplaySchema>>;

/** Deliveries and replays: those of an application by the public API, or of all by the admin API. */
export interface DeliveriesApi {
  page(query: Fields): Promise<ListPage<Delivery>>;
  show(id: string): Promise<Delivery>;
  retry(id: string): Promise<Delivery>;
  startReplay(range: Fields): Promise<ReplayAnswer>;
  showReplay(id: string): Promise<ReplayAnswer>;
  cancelReplay(id: string): Promise<void>;
}

/** The deliveries of all applications, by the admin API. */
export function allDeliveries(api: AdminApi): DeliveriesApi {
  const deliveries = "/admin/v1/deliveries";
  const replays = "/admin/v1/replays";
  const at = (path: string, id: string) => `${path}/${encodeURIComponent(id)}`;
  return {
    page: (query) => api.get(deliveries, given(query)),
    show: (id) => api.get(at(deliveries, id)),
    retry: (id) => api.json({ method: "POST", path: `${at(deliveries, id)}/retry` }),
    startReplay: (range) => api.json({ method: "POST", path: replays, json: range }),
    showReplay: (id) => api.get(at(replays, id)),
    cancelReplay: async (id) => void (await api.send({ method: "DELETE", path: at(replays, id) })),
  };
}

/** Returns the fields that are not empty. */
function given(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
}

/** The deliveries of the client's application or user, by the public API. */
export function ownDeliveries(api: Client): DeliveriesApi {
  const deliveries = "/public/v1/events/deliveries";
  const replays = "/public/v1/events/replays";
  const at = (id: string) => ({ params: { path: { id } } });
  return {
    // A boundary: the server checks the fields.
    page: (query) => api.get(deliveries, { params: { query: given(query) as never } }),
    show: async (id) => (await api.get(`${deliveries}/{id}`, at(id))).data,
    retry: async (id) => (await api.post(`${deliveries}/{id}/retry`, at(id))).data,
    startReplay: async (range) => (await api.post(replays, { body: range as never })).data,
    showReplay: async (id) => (await api.get(`${replays}/{id}`, at(id))).data,
    cancelReplay: async (id) => void (await api.delete(`${replays}/{id}`, at(id))),
  };
}
