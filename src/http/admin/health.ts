import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { replyDomainError } from "../errors.ts";
import { replyJson } from "../exchange.ts";
import { answer } from "../public/reference.ts";
import type { AdminListener } from "./base.ts";
import { adminOperation, closed } from "./reference.ts";

/**
 * `/healthz`: the process answers. `/readyz`: the server should get requests; 503 with the reason otherwise. No key
 * needed.
 */
export function healthRoutes(app: AdminListener, whyNotReady: () => Promise<string | null>): void {
  const says = (status: string) =>
    answer("It does.", {
      schema: Type.Object(
        { status: Type.Literal(status, { description: "That it is so." }) },
        { $id: status === "ok" ? "Health" : "Readiness", description: "The state of the server.", ...closed },
      ),
      example: { status },
    });

  app.get(
    "/healthz",
    ({ exchange }) => replyJson(exchange, 200, { status: "ok" }),
    adminOperation({
      id: "getHealth",
      tag: "Health",
      summary: "Get Health",
      description: "Whether the process answers. Needs no key.",
      open: true,
      answers: { 200: says("ok") },
    }),
  );

  app.get(
    "/readyz",
    async ({ exchange }) => {
      const reason = await whyNotReady();
      if (reason === null) return replyJson(exchange, 200, { status: "ready" });
      // Not thrown: the log has its line from where the reason arose, not one for each probe.
      return replyDomainError(exchange, new DomainError("unavailable", reason, { retryAfterSeconds: 1 }));
    },
    adminOperation({
      id: "getReadiness",
      tag: "Health",
      summary: "Get Readiness",
      description:
        "Whether the server should get requests. 503 with the reason in `message` while it starts and stops, while its disk is full or fails, and when its database is damaged. Needs no key.",
      open: true,
      answers: { 200: says("ready") },
    }),
  );
}
