import { DomainError } from "../../domain/errors.ts";
import { replyJson } from "../exchange.ts";
import type { AdminListener } from "./base.ts";

/** `/healthz`: the process answers. `/readyz`: it takes requests; 503 while it starts and stops. No key needed. */
export function healthRoutes(app: AdminListener, isReady: () => boolean): void {
  app.get("/healthz", ({ exchange }) => replyJson(exchange, 200, { status: "ok" }));
  app.get("/readyz", ({ exchange }) => {
    if (!isReady()) throw new DomainError("unavailable", "Starting or stopping", { retryAfterSeconds: 1 });
    return replyJson(exchange, 200, { status: "ready" });
  });
}
