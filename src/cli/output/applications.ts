import type { Static } from "@sinclair/typebox";
import type { ApplicationSchema } from "../../http/admin/application-fields.ts";
import type { EndpointSchema } from "../../http/admin/events/endpoints.ts";
import type { AdminApi, Fields } from "../client/admin-api.ts";
import { webhookHeadersText } from "../webhook-headers.ts";
import { type Paging, pagesOf } from "./list.ts";
import type { ListPage, Output } from "./output.ts";

/** An application and an endpoint in the admin API's form. */
export type ApplicationAnswer = Static<typeof ApplicationSchema>;
export type EndpointAnswer = Static<typeof EndpointSchema>;

/** The reasons for a disabled endpoint, in words. */
export const reasons = { gone: "it answered 410", failing: "all attempts failed for 24 hours" } as const;

type Listed = ApplicationAnswer & { readonly endpoint: Pick<EndpointAnswer, "status" | "disabled_reason"> };

/** Prints applications, each with the state of its endpoint. */
export async function listApplications(api: AdminApi, paging: Paging, out: Output): Promise<void> {
  const get = (page: Fields) => api.get<ListPage<Listed>>("/admin/v1/applications", page);
  await out.list(pagesOf(paging, get), {
    columns: ["ID", "STATE", "ENDPOINT", "NAME", "WEBHOOK"],
    cells: (one) => {
      const state = one.disabled ? "disabled" : "enabled";
      return [one.id, state, endpointCell(one), one.name, one.webhook_url ?? "-"];
    },
    empty: "There are no applications.",
  });
}

function endpointCell({ webhook_url, delivery, endpoint }: Listed): string {
  if (delivery === "stream") return "stream only";
  if (webhook_url === null) return "no URL";
  const { status, disabled_reason } = endpoint;
  return disabled_reason === null ? status : `${status} (${disabled_reason})`;
}

/** Returns an answer for display, with the endpoint's state and the headers in one line each. */
export function forPeople(answer: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { last_failure, endpoint, ...others } = answer;
  const { webhook_headers: headers } = others;
  const shown = headers && webhookHeadersText(headers as ApplicationAnswer["webhook_headers"]);
  const rest = { ...others, ...(shown !== undefined && { webhook_headers: shown }) };
  if (endpoint !== undefined) return { ...rest, endpoint: sentenceOf(endpoint as EndpointAnswer) };
  if (last_failure === undefined) return rest;
  return { ...rest, last_failure: (last_failure as EndpointAnswer["last_failure"])?.error ?? null };
}

function sentenceOf({
  status,
  disabled_reason,
  disabled_at,
  failures,
  last_failure,
}: EndpointAnswer): string {
  if (status === "disabled") return `disabled since ${disabled_at}: ${reasons[disabled_reason ?? "failing"]}`;
  return status === "enabled" ? status : `failing: ${failures} attempts, ${last_failure?.error ?? ""}`;
}
