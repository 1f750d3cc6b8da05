import { applyBatch } from "../../batch/apply.ts";
import { DomainError } from "../../domain/errors.ts";
import { parseJson } from "../../domain/json.ts";
import type { Publisher } from "../../webhooks/publisher.ts";
import { bodyStream, mediaType, readBytes, requireMediaType } from "../body.ts";
import { replyJson } from "../exchange.ts";
import { type AdminListener, adminBodyBytes, operatorOnly } from "./base.ts";

const json = "application/json";
const ndjson = ["application/x-ndjson", "application/ndjson", "application/jsonl"];

/** `POST /admin/v1/events`: one event as JSON, or many as NDJSON. */
export function eventRoutes(app: AdminListener, publisher: Publisher): void {
  app.post(
    "/admin/v1/events",
    async ({ exchange, request }) => {
      requireMediaType(request, json, ...ndjson);
      if (request.headers.has("idempotency-key")) {
        throw new DomainError(
          "invalid_parameter",
          "Idempotency-Key is not supported yet; give the event an id",
        );
      }
      if (mediaType(request) === json) {
        const published = await publisher.publish(parseJson(await readBytes(request, adminBodyBytes)));
        return replyJson(exchange, 202, published);
      }
      const read = (bytes: Uint8Array) => parseJson(bytes, "line");
      const report = await applyBatch(bodyStream(request), read, (events) => publishAll(publisher, events));
      return replyJson(exchange, 202, report);
    },
    operatorOnly(),
  );
}

/** Together, so that they share a commit. */
async function publishAll(publisher: Publisher, events: readonly unknown[]): Promise<(string | null)[]> {
  const results = await Promise.allSettled(events.map((event) => publisher.publish(event)));
  return results.map((result) => {
    if (result.status === "fulfilled") return null;
    if (!(result.reason instanceof DomainError) || result.reason.code === "unavailable") throw result.reason;
    const fields = result.reason.details.errors ?? [];
    return fields.map(({ field, message }) => `${field} ${message}`).join("; ") || result.reason.message;
  });
}
