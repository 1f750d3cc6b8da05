/*
 * The yardsticks: what a server written by hand on `Bun.serve` alone does with the answers of On Air.
 * bun yardstick-server.ts <bare|equal> <file of answers> <file of order> <part of the path before the key> [token]
 *
 * `bare` reads nothing of the request and gives the answers in the order of the load. `equal` reads the
 * authorization header where there is a token, finds the token in a Map, and finds the answer in a Map by the rest
 * of the path.
 */
import type { KeptAnswer } from "./yardsticks.ts";

const [kind, answersFile = "", orderFile = "", before = "", token] = process.argv.slice(2);

interface Ready {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly init: { readonly headers: Headers };
}

const encoder = new TextEncoder();
const answers = new Map<string, Ready>();
const inits = new Map<string, Ready["init"]>();
for (const line of await lines(answersFile)) {
  const { path, headers, body } = JSON.parse(line) as KeptAnswer;
  const init = inits.get(headers) ?? { headers: new Headers(JSON.parse(headers)) };
  inits.set(headers, init);
  answers.set(path.slice(before.length), { body: encoder.encode(body), init });
}

async function lines(file: string): Promise<string[]> {
  return (await Bun.file(file).text()).split("\n");
}

function bare(order: readonly string[]): () => Response {
  const all = [...answers.values()];
  const inOrder = order.map((index) => all[Number(index)] as Ready);
  let at = 0;
  return () => {
    const { body, init } = inOrder[at] as Ready;
    at = at + 1 < inOrder.length ? at + 1 : 0;
    return new Response(body, init);
  };
}

function equal(): (request: Request) => Response {
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
  fetch: kind === "bare" ? bare(await lines(orderFile)) : equal(),
});
process.stdout.write(`ready http://127.0.0.1:${server.port}\n`);
