import { escaped } from "../../runtime/terminal.ts";
import type { Delivery } from "../client/deliveries-api.ts";
import type { Output } from "./output.ts";
import { note, recordLines, type Screen, table } from "./print.ts";

type Attempt = Delivery["attempts"][number];

/** The outcome comes first, because a narrow terminal cuts the last columns. */
const columns = ["ID", "STATUS", "LAST", "TYPE", "ATTEMPTS", "PUBLISHED"];

/** The columns of a list of deliveries; for operators with the application. */
export function deliveryColumns({ forOperator }: { readonly forOperator: boolean }): string[] {
  return forOperator ? [...columns, "APPLICATION"] : columns;
}

export function deliveryCells({ id, created_at, status, type, attempts, app_id }: Delivery): string[] {
  const last = attempts.at(-1);
  const cells = [id, status, last ? outcomeOf(last) : "-", type, String(attempts.length), created_at];
  return app_id === undefined ? cells : [...cells, app_id];
}

/** Prints a delivery with its attempts, and the last request when it is known. */
export async function printDelivery(delivery: Delivery, out: Output): Promise<void> {
  const { attempts, request, ...rest } = delivery;
  const on = out.screen;
  const parts = [recordLines(rest, on), attemptTable(attempts, on)];
  if (request)
    parts.push(recordLines(request.headers, on), escaped(request.body ?? "(the body is no longer kept)"));
  await out.answer(delivery, parts.filter((part) => part !== "").join("\n\n"));
}

function attemptTable(attempts: readonly Attempt[], on: Screen): string {
  if (attempts.length === 0) return "";
  const rows = attempts.map((one) => [
    one.at,
    outcomeOf(one),
    `${one.duration_ms} ms`,
    one.error ?? "",
    one.response.slice(0, longestAnswer),
  ]);
  // Not cut to the terminal, so that errors stay complete.
  return table(["ATTEMPT", "OUTCOME", "TOOK", "ERROR", "ANSWER"], rows, { ...on, columns: null });
}

const longestAnswer = 80;

const outcomeOf = ({ status, outcome }: Attempt) => (status === null ? outcome : String(status));

/** Notes the outcome of the last attempt and the next step. */
export function noteOutcome({ status, attempts, next_attempt_at }: Delivery): void {
  const last = attempts.at(-1);
  const why = last?.error ? `: ${last.error}` : "";
  if (status === "delivered") note("The delivery succeeded.");
  else if (status === "pending" && next_attempt_at)
    note(`The attempt failed${why} Next attempt: ${next_attempt_at}.`);
  else note(`The delivery is ${status}${why}`);
}
