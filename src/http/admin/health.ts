import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { answer } from "../answers.ts";
import type { AdminListener } from "./base.ts";

function says<Status extends string>(name: string, status: Status) {
  return answer(
    { status: Type.Literal(status, { description: "State of the server." }) },
    { name, description: "The state of the server.", example: { status } },
  );
}

/**
 * `/healthz`: 200 while the process answers. `/readyz`: 200 when the server should get requests, else 503 with the
 * reason. Neither needs a key.
 */
export function healthRoutes(app: AdminListener, whyNotReady: () => Promise<string | null>): void {
  app.get("/healthz", () => ({ status: "ok" as const }), {
    keyless: true,
    response: { 200: says("Health", "ok") },
    detail: {
      operationId: "getHealth",
      tags: ["Health"],
      description: "Returns 200 while the process responds. Requires no key.",
    },
  });

  app.get(
    "/readyz",
    async () => {
      const reason = await whyNotReady();
      if (reason === null) return { status: "ready" as const };
      throw new DomainError("unavailable", reason, { retryAfterSeconds: 1, isLogged: true });
    },
    {
      keyless: true,
      response: { 200: says("Readiness", "ready") },
      detail: {
        operationId: "getReadiness",
        tags: ["Health"],
        description:
          "Returns 200 while the server should receive requests, else 503 with the reason in `message`: while it starts or stops, while its disk is full or fails, or if its database is damaged. Requires no key.",
      },
    },
  );
}
