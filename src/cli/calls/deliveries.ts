import type { Static } from "@sinclair/typebox";
import type { OwnedDelivery, OwnedReplay, OwnedSentDelivery } from "../../api/admin/deliveries.ts";
import type { Client } from "../../client/create-client.ts";
import type { ListPage } from "../output/output.ts";
import type { AdminApi, Fields } from "./admin-api.ts";
import { broadcasterId, userId, withApplicationNames } from "./names.ts";

type OperatorSentDelivery = Static<typeof OwnedSentDelivery>;
type SentAttempt = OperatorSentDelivery["attempts"][number];
type OperatorDelivery = Omit<Static<typeof OwnedDelivery>, "attempts"> &
  Partial<Pick<OperatorSentDelivery, "request">> & {
    /** With the fields of a sent delivery only for a single one. */
    readonly attempts: readonly (Static<typeof OwnedDelivery>["attempts"][number] & Partial<SentAttempt>)[];
  };

/** `T` without the application, which only operators see. */
type WithoutApplication<T extends { app_id: string }> = Omit<T, "app_id"> & Partial<Pick<T, "app_id">>;

/** A delivery of either API; a single delivery also has the last request. */
export type Delivery = WithoutApplication<OperatorDelivery> & {
  /** For operators; null if the application was deleted. */
  readonly app_name?: string | null;
};

/** A replay of either API. */
export type ReplayAnswer = WithoutApplication<Static<typeof OwnedReplay>>;

/** Deliveries and replays: those of an application by the public API, or of all by the admin API. */
export interface DeliveriesApi {
  /** Returns the id of the user with this id or username. */
  userId(user: string): Promise<number>;
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
  const named = withApplicationNames(api);
  return {
    userId: (user) => userId(api, user),
    async page(query) {
      const page = await api.get<ListPage<OperatorDelivery>>(deliveries, withoutEmpty(query));
      return { ...page, data: await named(page.data) };
    },
    async show(id) {
      const delivery = await api.get<OperatorDelivery>(at(deliveries, id));
      return (await named([delivery]))[0] ?? delivery;
    },
    retry: (id) => api.json({ method: "POST", path: `${at(deliveries, id)}/retry` }),
    startReplay: (range) => api.json({ method: "POST", path: replays, json: range }),
    showReplay: (id) => api.get(at(replays, id)),
    cancelReplay: async (id) => void (await api.send({ method: "DELETE", path: at(replays, id) })),
  };
}

/** Returns the fields that are not empty. */
function withoutEmpty(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
}

/** The deliveries of the client's application or user, by the public API. */
export function ownDeliveries(api: Client): DeliveriesApi {
  const deliveries = "/public/v1/events/deliveries";
  const replays = "/public/v1/events/replays";
  const at = (id: string) => ({ params: { path: { id } } });
  return {
    userId: (user) => broadcasterId(api, user),
    // A boundary: the server checks the fields of the query.
    page: (query) => api.get(deliveries, { params: { query: withoutEmpty(query) as never } }),
    show: async (id) => (await api.get(`${deliveries}/{id}`, at(id))).data,
    retry: async (id) => (await api.post(`${deliveries}/{id}/retry`, at(id))).data,
    startReplay: async (range) => (await api.post(replays, { body: range as never })).data,
    showReplay: async (id) => (await api.get(`${replays}/{id}`, at(id))).data,
    cancelReplay: async (id) => void (await api.delete(`${replays}/{id}`, at(id))),
  };
}
