import type { Input } from "../requests/input.ts";
import type { FuzzedPlatform } from "./platform.ts";

/** An answer that takes longer counts as none. */
const deadlineMs = 30_000;

/** What nobody may see: stacks, names of what is inside; and what callers of the public API may not: paths. */
const inner = /\n\s+at |node_modules|\.ts:\d|SQLITE_|sqlite3?_|drizzle|ENOENT|undefined is not|Bun v\d/;

const secretFields = ["client_secret", "webhook_secret", "access_token", "refresh_token", "key"];

interface Judged {
  readonly status: number;
  readonly complaints: readonly string[];
}

/** Sends a request, and says all that is wrong with its answer, by what the document says. */
export async function judged(platform: FuzzedPlatform, input: Input): Promise<Judged> {
  const { operation } = input;
  const request = platform.request(input);
  const sent = input.body === null ? "" : platform.known.resolve(input.body);
  const answer = await fetch(request, { signal: AbortSignal.timeout(deadlineMs) });
  const complaints: string[] = [];
  const says = (isWrong: boolean, what: string) => {
    if (isWrong) complaints.push(what);
  };
  const documented = operation.answers.get(answer.status);
  const [type = ""] = (answer.headers.get("content-type") ?? "").split(";");
  const text = await textOf(answer, type);
  says(documented === undefined, `status ${answer.status} is not documented`);
  says(answer.status >= 500, `status ${answer.status}`);
  says(input.isFaulty === true && answer.status < 400, "accepts what is wrong in one place");
  // Others depend on why a request is refused.
  const always =
    documented?.headers.filter((name) => answer.ok || /^(X-Request-Id|RateLimit-.*)$/.test(name)) ?? [];
  const missing = always.filter((name) => !answer.headers.has(name));
  const ofRate = missing.filter((name) => name.startsWith("RateLimit-"));
  says(ofRate.length > 0 && !(await platform.isUnlimited()), `without ${ofRate}`);
  says(missing.length > ofRate.length, `without ${missing}`);
  says(answer.status === 401 && !answer.headers.has("www-authenticate"), "without WWW-Authenticate");
  says(!hasGoodRate(answer.headers), "its limits contradict each other");
  const id = answer.headers.get("x-request-id") ?? "";
  says(!/^[\x21-\x7e]{1,255}$/.test(id), `X-Request-Id is ${JSON.stringify(id)}`);

  const types = [...(documented?.bodies.keys() ?? [])];
  says(types.length === 0 && text !== "", "has a body, where none is documented");
  says(types.length > 0 && !types.includes(type), `content type ${JSON.stringify(type)}`);
  const body = type === "application/json" ? parsed(text) : undefined;
  if (type === "application/json") {
    const complaint = documented?.bodies.get(type)?.(body) ?? null;
    says(complaint !== null, `the body is not as documented: ${complaint}`);
  }
  if (answer.status >= 400) {
    const { request_id } = (body ?? {}) as { request_id?: string };
    says(body !== undefined && request_id !== id, "request_id is not that of the header");
  }
  const shown = text + JSON.stringify([...answer.headers]);
  says(inner.test(shown), `shows what is inside: ${inner.exec(shown)?.[0]}`);
  says(operation.listener === "public" && shown.includes(platform.server.data), "shows the data directory");
  for (const secret of platform.secrets) {
    says(shown.includes(secret) && !sent.includes(secret), `shows a secret: ${secret}`);
  }
  const isAccepted = answer.status < 300 && sent !== "" && type !== "";
  const taken = operation.bodies.find(({ type }) => type === input.headers["content-type"]);
  if (isAccepted && taken?.type === "application/json") {
    says(!taken.isValid(parsed(sent)), "takes a body that is not as documented");
  }

  await learn(platform, input, answer, body);
  return { status: answer.status, complaints };
}

/** The text of an answer; nothing of a stream, which has no end, and of a file. */
async function textOf(answer: Response, type: string): Promise<string> {
  if (type === "text/event-stream" || type === "application/vnd.sqlite3") {
    await answer.body?.cancel();
    return "";
  }
  return await answer.text();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hasGoodRate(headers: Headers): boolean {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
    headers.get(`ratelimit-${name}`),
  );
  if (limit == null && remaining == null && reset == null) return true;
  const numbers = [limit, remaining, reset].map((text) =>
    /^\d+$/.test(text ?? "") ? Number(text) : Number.NaN,
  );
  return numbers.every((number) => number >= 0) && Number(remaining) <= Number(limit);
}

/** Keeps what later requests can name, and mends the caller when the request took its rights. */
async function learn(platform: FuzzedPlatform, { operation, as }: Input, answer: Response, body: unknown) {
  if (answer.ok) {
    platform.known.learn(operation.path, body);
    const secrets = Object.entries(body ?? {}).filter(([name]) => secretFields.includes(name));
    for (const [, secret] of secrets)
      if (typeof secret === "string" && secret !== "") platform.secrets.add(secret);
  }
  const location = URL.parse(answer.headers.get("location") ?? "");
  const challenge = location?.searchParams.get("login_challenge");
  if (challenge) platform.known.add("login-requests", challenge);
  const { code = "" } = (body ?? {}) as { code?: string };
  const lost =
    as === "owner"
      ? ["invalid_token", "insufficient_scope", "rate_limited"]
      : as === "user"
        ? ["invalid_token"]
        : [];
  if (operation.listener === "public" && operation.needsToken && lost.includes(code)) await platform.renew();
}
