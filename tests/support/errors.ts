import { expect } from "bun:test";
import { json } from "./server.ts";

interface ErrorBody {
  message: string;
  code: string;
  errors: { in: string; field: string; message: string }[];
  request_id: string;
}

/** An answer that must be an error in the one shape. */
export async function errorOf(response: Response): Promise<ErrorBody> {
  expect(response.headers.get("content-type")).toBe("application/json");
  const body = await json<ErrorBody>(response);
  expect(Object.keys(body).sort()).toEqual(["code", "errors", "message", "request_id"]);
  expect(body.request_id).toBe(response.headers.get("x-request-id") ?? "");
  expect(JSON.stringify(body)).not.toMatch(/\.ts|node_modules|at .*\(|SQLITE|SELECT|Elysia/);
  return body;
}
