/*
 * The yardsticks: what a server written by hand on `Bun.serve` alone does with the answers of On Air.
 * bun yardstick-server.ts <bare|equal> <directory of the load and the heads> <file of answers> <before the key> [token]
 *
 * `bare` reads nothing of the request and gives the answers in the order of the load. `equal` reads the
 * authorization header where there is a token, finds the token in a Map, and finds the answer in a Map by what stands
 * behind <before the key> in the path.
 */
import { join } from "node:path";
import { orderFile, pathsFile } from "./wrk.ts";
import { type Head, headsFile, type KeptAnswer } from "./yardsticks.ts";

const [kind, directory = "", answersFile = "", before = "", token] = process.argv.slice(2);

interface Ready {
  readonly body: Uint8Array<ArrayBuffer> | null;
  readonly init: ResponseInit;
}

const text = (name: string) => Bun.file(join(directory, name)).text();
const heads = (JSON.parse(await text(headsFile)) as Head[]).map(({ status, headers }) => ({
  status,
  headers: new Headers(headers as [string, string][]),
}));

/** The kept answers, a line at a time, for a million of them make a long file. */
async function* kept(): AsyncGenerator<KeptAnswer> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of Bun.file(answersFile).stream()) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as KeptAnswer;
  }
  if (rest !== "") yield JSON.parse(rest) as KeptAnswer;
}

const encoder = new TextEncoder();

/** The answers by the key in their path; of paths that are not `wanted` none is kept. */
async function readAnswers(wanted: ReadonlySet<string> | null): Promise<Map<string, Ready>> {
  const answers = new Map<string, Ready>();
  for await (const [path, head, body] of kept()) {
    if (wanted && !wanted.has(path)) continue;
    const bytes = body === "" ? null : encoder.encode(body);
    answers.set(path.slice(before.length), { body: bytes, init: heads[head] ?? {} });
  }
  return answers;
}

async function bare(): Promise<() => Response> {
  const paths = (await text(pathsFile)).split("\n");
  const answers = await readAnswers(new Set(paths));
  const inOrder = (await text(orderFile)).split("\n").map((index) => {
    return answers.get((paths[Number(index)] ?? "").slice(before.length)) as Ready;
  });
  let at = 0;
  return () => {
    const { body, init } = inOrder[at] as Ready;
    at = at + 1 < inOrder.length ? at + 1 : 0;
    return new Response(body, init);
  };
}

async function equal(): Promise<(request: Request) => Response> {
  const answers = await readAnswers(null);
  const find = (request: Request) => {
    const url = request.url;
    const found = answers.get(url.slice(url.indexOf("/", 8) + before.length));
    return found ? new Response(found.body, found.init) : new Response(null, { status: 404 });
  };
  if (token === undefined) return find;
  const tokens = new Map([[token, { expiresAt: Date.now() + 86_400_000 }]]);
  return (request) => {
    const header = request.headers.get("authorization");
    if (!header?.startsWith("Bearer ") || !tokens.has(header.slice(7))) {
      return new Response(null, { status: 401 });
    }
    return find(request);
  };
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  reusePort: false,
  development: false,
  fetch: kind === "bare" ? await bare() : await equal(),
});
process.stdout.write(`ready http://127.0.0.1:${server.port}\n`);
