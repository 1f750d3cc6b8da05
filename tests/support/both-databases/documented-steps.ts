import fc from "fast-check";
import { type Documented, documented } from "../fuzz/documented.ts";
import { type Input, inputs } from "../fuzz/inputs.ts";
import { Known, unknown } from "../fuzz/known.ts";
import type { OpenApiDocument } from "../openapi.ts";
import type { Step, World } from "./world.ts";

/** What has no end, is of one machine or one database, or is counted at a time of its own. */
const leftOut = /stream|outcomes|backups|settings|storage|findings|statistics|public-key|\/(healthz|readyz)$/;
/** Requests that are generated at a time. */
const atOnce = 40;

/** Makes the step that sends one of the requests that `tests/api/fuzz.test.ts` makes from the OpenAPI documents. */
export async function documentedStep(world: World, seed: number): Promise<Step> {
  const all: Documented[] = [];
  for (const listener of ["public", "admin"] as const)
    all.push(...documented(listener, (await world.pair.document(listener)) as OpenApiDocument));
  const operations = fc.constantFrom(...all.filter(({ path }) => !leftOut.test(path)));
  const known = new Known();
  let waiting: Input[] = [];
  let next = seed;
  return async () => {
    if (waiting.length === 0)
      waiting = fc.sample(
        operations.chain((one) => inputs([one])),
        { seed: next++, numRuns: atOnce },
      );
    const input = waiting.pop();
    if (input) await send(world, known, input);
  };
}

async function send(world: World, known: Known, input: Input): Promise<void> {
  const { operation, path, query, headers, body, as } = input;
  const resolved = (text: string) => known.resolve(text);
  const at = operation.path.replace(/\{([a-z_]+)\}/g, (_, name: string) =>
    segment(resolved(path[name] ?? "")),
  );
  const parameters = query
    .map(([name, value]) => [name, resolved(value)] as const)
    .filter(([, value]) => value !== unknown)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  const answer = await world.call({
    method: operation.method,
    path: `${at}${parameters.length > 0 ? "?" : ""}${parameters.join("&")}`,
    headers,
    ...(as !== "nobody" && { token: world.token() }),
    ...(body !== null && operation.method !== "GET" && { body: resolved(body) }),
  });
  known.learn(operation.path, answer.body);
}

/** A part of a path. An empty one, and one of dots alone, would be another path. */
const segment = (text: string) => (/^\.*$/.test(text) ? "dots" : encoded(text));
const encoded = (text: string) => encodeURIComponent(text.toWellFormed());
