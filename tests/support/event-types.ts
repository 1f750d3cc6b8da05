import { json, type TestServer } from "./server.ts";

interface Answer {
  readonly code?: string;
  readonly message: string;
  readonly errors?: readonly { in: string; field: string; message: string }[];
  readonly event_type?: Record<string, unknown>;
}

/** Registers a type of events, and gives what the server answers. */
export async function register(server: Pick<TestServer, "admin">, name: string, body: unknown) {
  const answer = await server.admin("PUT", `/admin/v1/event-types/${name}`, body);
  return { status: answer.status, body: await json<Answer>(answer) };
}

/** A type of events with required fields and a list, as it is registered. */
export const raffle = {
  version: 1,
  schema: {
    type: "object",
    properties: {
      winner: { type: "string", minLength: 1 },
      tickets: { type: "integer", minimum: 1 },
      prizes: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
    },
    required: ["winner", "tickets"],
    additionalProperties: false,
  },
  example: { winner: "ninja_fox", tickets: 3 },
};
