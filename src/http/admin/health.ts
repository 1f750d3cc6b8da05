import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { answer } from "../answers.ts";
import type { AdminListener } from "./base.ts";

function says<Status extends string>(name: string, status: Status) {
  return answer(
    { status: Type.Literal(status, { description: "That it is so." }) },
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
      description: "Whether the process answers. Needs no key.",
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
          "Whether the server should get requests. 503 with the reason in `message` while it starts and stops, while its disk is full or fails, and when its database is damaged. Needs no key.",
      },
    },
  );
}
