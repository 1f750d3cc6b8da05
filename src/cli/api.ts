import { errorOf, type OnairError } from "../client/http.ts";
import { beginningOf } from "../runtime/files.ts";
import { escaped } from "../runtime/terminal.ts";
import { command, type OptionValues, repeatable, switches, valued } from "./arguments.ts";
import { withAdminApi } from "./calls/admin-api.ts";
import { adminRefusal, publicRefusal } from "./calls/http.ts";
import { publicOptions, readPublicTarget, withPublicApi } from "./calls/public-api.ts";
import { readTarget, refuseContent, targetOptions } from "./calls/target.ts";
import { failed, ok } from "./command.ts";
import { sizeOf, streamOf } from "./files.ts";
import { note, print, write } from "./output/print.ts";

const help = `Usage: onair api [METHOD] <path> [--field NAME=VALUE …] [--body TEXT] [options]

Sends a request to the API, and prints the body of the answer. A path that begins with /admin/ goes
to the admin API with the operator key; any other path goes to the public API with a token.

  onair api /public/v1/categories --field limit=3
  onair api POST /public/v1/events/test --field event=channel.followed
  onair api PATCH /public/v1/application --body '{"delivery": "both"}'
  onair api /admin/v1/applications

METHOD is GET by default; with --body, or with --field for a JSON body, name it.

  --field NAME=VALUE
                 with GET, HEAD and DELETE: a parameter of the query, otherwise a field of the JSON
                 body; may be repeated. In a body, a value that is valid JSON is used as such, any
                 other as a string
  --body TEXT    the body; "@FILE" reads it from a file, "-" from standard input. It is sent as
                 JSON, or by the Content-Type of --header
  --header 'NAME: VALUE'
                 a header of the request; may be repeated
  --include      print the status and the headers of the answer before its body

For the public API:
  --profile NAME, --token TOKEN
                 as for "onair listen"
For the admin API:
  --data DIR, --database URL, --config FILE
                 without a server: as for "onair apps"
  --client-cert FILE, --client-key FILE
                 as for "onair apps"
For both:
  --url URL      the public listener (ONAIR_URL), or the admin listener (ONAIR_ADMIN_URL)

Exit code: 0 on success, 1 for an error answer, whose body is printed, or on failure, 2 for wrong
usage.
`;

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
type Method = (typeof methods)[number];

const options = {
  ...publicOptions,
  ...targetOptions,
  ...valued("body"),
  ...repeatable("field", "header"),
  ...switches("include"),
};
type Values = OptionValues<typeof options>;

export const api = command({
  summary: "send a request to the API, and print the answer",
  help,
  options,
  needs: "the path, like /public/v1/categories,",
  most: 2,
  candidates: methods,
  async run({ words, values, env, mistakes, check }) {
    const [method, path] = readRequestLine(words, mistakes);
    const request = readRequest(method, path, values, mistakes);
    refuseContent(values, "give a body with --body TEXT or --field NAME=VALUE", mistakes);
    check();
    const { token, profile, data, database, config, ...rest } = values;
    const exclude = (options: Readonly<Record<string, unknown>>, api: string) => {
      for (const [name, value] of Object.entries(options))
        if (value !== undefined) mistakes.push(`--${name} is not for ${api}`);
    };
    if (path.startsWith("/admin/")) {
      exclude({ token, profile }, "the admin API: set ONAIR_ADMIN_KEY");
      const target = readTarget(values, env, mistakes);
      check();
      const origin = target.server?.url.origin ?? null;
      return withAdminApi(target, async (api) =>
        show(
          await api.fetch(request.path, request),
          values,
          (error) => unknownPath(error, origin) ?? adminRefusal(error, origin),
        ),
      );
    }
    const { "client-cert": cert, "client-key": key } = rest;
    exclude({ data, database, config, "client-cert": cert, "client-key": key }, "the public API");
    const target = readPublicTarget(values, env, mistakes);
    check();
    return withPublicApi(target, async (api) =>
      show(
        await api.fetch(request.path, request),
        values,
        (error) => unknownPath(error, target.url) ?? publicRefusal(error, target.url, target.advice),
      ),
    );
  },
});

/** Reads `[METHOD] <path>`. Adds problems to `mistakes`. */
function readRequestLine([first = "", second]: readonly string[], mistakes: string[]): [Method, string] {
  const word = second === undefined ? "GET" : first.toUpperCase();
  const path = second ?? first;
  const method = methods.find((one) => one === word);
  if (method === undefined) mistakes.push(`The method must be one of ${methods.join(", ")}, not "${first}"`);
  // In a URL, the host of the platform is that of the profile or of --url.
  if (path !== "" && !/^\/[\x21-\x7e]*$/.test(path))
    mistakes.push(`The path must begin with a slash, like /public/v1/categories, not "${path}"`);
  return [method ?? "GET", path];
}

interface ApiRequest {
  readonly method: Method;
  /** With its query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: string | ReadableStream<Uint8Array> | null;
}

function readRequest(method: Method, path: string, values: Values, mistakes: string[]): ApiRequest {
  const { body, field: fields = [], header = [] } = values;
  const inQuery = method === "GET" || method === "HEAD" || method === "DELETE";
  const pairs = fields.flatMap((text) => pairOf(text, "=", "--field must be NAME=VALUE", mistakes));
  const headers = new Headers();
  for (const [name, value] of header.flatMap((text) =>
    pairOf(text, ":", "--header must be NAME: VALUE", mistakes),
  )) {
    try {
      headers.append(name.trim(), value.trim());
    } catch {
      mistakes.push(`--header ${name} is not a valid header`);
    }
  }
  if (headers.has("authorization"))
    mistakes.push("--header must not be Authorization: the command adds the token or key");
  if (body !== undefined && (method === "GET" || method === "HEAD"))
    mistakes.push(`--body needs another method than ${method}, like POST`);
  if (body !== undefined && fields.length > 0 && !inQuery)
    mistakes.push("--body and --field exclude each other");
  const opened = body === undefined ? bodyOf(inQuery ? [] : pairs, mistakes) : contentOf(body);
  if (opened !== null && !headers.has("content-type")) headers.set("content-type", "application/json");
  const query = new URLSearchParams(inQuery ? pairs : []);
  const separator = path.includes("?") ? "&" : "?";
  return { method, path: query.size === 0 ? path : path + separator + query, headers, body: opened };
}

function pairOf(text: string, separator: string, form: string, mistakes: string[]): [string, string][] {
  const at = text.indexOf(separator);
  if (at > 0) return [[text.slice(0, at), text.slice(at + 1)]];
  mistakes.push(`${form}, not "${text}"`);
  return [];
}

/** Returns the JSON body with these fields; null without fields. */
function bodyOf(pairs: readonly (readonly [string, string])[], mistakes: string[]): ApiRequest["body"] {
  if (pairs.length === 0) return null;
  const names = pairs.map(([name]) => name);
  for (const name of new Set(names.filter((one, i) => names.indexOf(one) < i)))
    mistakes.push(`--field ${name} is given more than once; a list is one value, like '${name}=[1, 2]'`);
  // The text of a valid value is kept, so that no number is rounded.
  const members = pairs.map(
    ([name, value]) => `${JSON.stringify(name)}:${isJson(value) ? value : JSON.stringify(value)}`,
  );
  return `{${members.join(",")}}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the body that `--body` names. Throws a `UsageError` when its file is unreadable. */
function contentOf(text: string): ApiRequest["body"] {
  if (text !== "-" && !text.startsWith("@")) return text;
  const file = text === "-" ? text : text.slice(1);
  sizeOf(file);
  return streamOf(file);
}

/** Describes the answer to a path that the API does not have, which is more often mistyped than sent elsewhere. */
function unknownPath({ status, message }: OnairError, origin: string | null): string | null {
  if (status !== 404 || message !== "There is nothing at this path" || origin === null) return null;
  return `${origin} answered 404: ${message}. All paths are at ${origin}/docs/api`;
}

const longestErrorBytes = 1024 * 1024;

/** Prints an answer; for an error also its message, on standard error. Returns the exit code. */
async function show(
  response: Response,
  { include = false }: Values,
  refusal: (error: OnairError) => string,
): Promise<number> {
  if (include) {
    const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`);
    await print(`${response.status} ${response.statusText}\n${lines.join("\n")}\n`);
  }
  if (response.ok) {
    // A terminal gets no control characters; a program gets the bytes of the answer.
    const decoder = process.stdout.isTTY ? new TextDecoder() : null;
    for await (const bytes of response.body ?? [])
      await write(decoder ? escaped(decoder.decode(bytes, { stream: true })) : bytes);
    if (decoder) await print("");
    return ok;
  }
  const bytes = await beginningOf(response.body, longestErrorBytes);
  if (bytes.length > 0) await print(new TextDecoder().decode(bytes));
  note(refusal(await errorOf(new Response(new Uint8Array(bytes), response))));
  return failed;
}
