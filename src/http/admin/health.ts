import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { replyJson } from "../exchange.ts";
import { answer } from "../public/reference.ts";
import type { AdminListener } from "./base.ts";
import { adminOperation, closed } from "./reference.ts";

/** `/healthz`: the process answers. `/readyz`: it takes requests; 503 while it starts and stops. No key needed. */
export function healthRoutes(app: AdminListener, isReady: () => boolean): void {
  const says = (status: string) =>
    answer("It does.", {
      schema: Type.Object({ status: Type.Literal(status) }, closed),
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
    ({ exchange }) => {
      if (!isReady()) throw new DomainError("unavailable", "Starting or stopping", { retryAfterSeconds: 1 });
      return replyJson(exchange, 200, { status: "ready" });
    },
    adminOperation({
      id: "getReadiness",
      tag: "Health",
      summary: "Get Readiness",
      description: "Whether the server takes requests: 503 while it starts and stops. Needs no key.",
      open: true,
      answers: { 200: says("ready") },
    }),
  );
}
