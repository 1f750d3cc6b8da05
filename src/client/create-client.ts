import createFetchClient, { type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";
import type { components, paths } from "./api.d.ts";
import { copyOf, errorOf, type Patience, patient } from "./http.ts";
import { type Credentials, tokenSource } from "./tokens.ts";

/** The platform, the credentials for the platform, and how long to wait. */
export interface ClientOptions extends Credentials, Patience {
  /** The URL of the platform's public listener, like `https://api.example.com`. */
  readonly url: string;
  /** Sends a request; by default the global `fetch`. */
  fetch?(request: Request): Promise<Response>;
}

type HttpMethod = "get" | "post" | "patch" | "delete";
type PathsWith<Method extends HttpMethod> = {
  [Path in keyof paths]: paths[Path] extends Record<Method, object> ? Path : never;
}[keyof paths];

/** The body of a successful answer. */
export type AnswerOf<Path extends keyof paths, Method extends HttpMethod> = Exclude<
  FetchResponse<OperationOf<Path, Method>, object, `${string}/json`>["data"],
  undefined
>;
type OperationOf<Path extends keyof paths, Method extends HttpMethod> =
  paths[Path][Method] extends Record<string | number, unknown> ? paths[Path][Method] : never;

type Init<Path extends keyof paths, Method extends HttpMethod> = MaybeOptionalInit<paths[Path], Method>;
/** The last parameter of a call. The parameter may be left out where no field of it is required. */
type Parameters<I> = undefined extends I ? [init?: I] : [init: I];

type Call<Method extends HttpMethod> = <Path extends PathsWith<Method>>(
  path: Path,
  ...init: Parameters<Init<Path, Method>>
) => Promise<AnswerOf<Path, Method>>;

/** The paths whose answers are pages. */
type PagedPath = {
  [Path in PathsWith<"get">]: AnswerOf<Path, "get"> extends Page ? Path : never;
}[PathsWith<"get">];
interface Page {
  readonly pagination: components["schemas"]["Pagination"];
}

/** The public API, typed by its OpenAPI document. Every call throws `OnairError` for an error answer. */
export interface Client {
  readonly get: Call<"get">;
  readonly post: Call<"post">;
  readonly patch: Call<"patch">;
  readonly delete: Call<"delete">;
  /** The pages of a list, from the page that `cursor` names. */
  pages<Path extends PagedPath>(
    path: Path,
    ...init: Parameters<Init<Path, "get">>
  ): AsyncGenerator<AnswerOf<Path, "get">, void>;
  /**
   * Sends a request to a path of the API with the token, which is renewed when refused. Returns error answers
   * unchanged.
   */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** The most renewals for a request. The limit ends repetition when the server refuses every token. */
const mostRenewals = 2;

/**
 * Creates a client of the public API. It fetches tokens when they are needed, renews them automatically, and repeats
 * requests after 429 and `Retry-After`. Throws a `TypeError` for an invalid URL or incomplete credentials.
 */
export function createClient(options: ClientOptions): Client {
  // JavaScript programs may leave out the URL, or pass an unset variable.
  if (!/^https?:$/.test(URL.canParse(options.url) ? new URL(options.url).protocol : ""))
    throw new TypeError(
      `url must be the URL of the platform, like https://api.example.com, not "${options.url}"`,
    );
  const url = options.url.replace(/\/+$/, "");
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const tokens = tokenSource(url, options, patient(inTime(send), options));

  const authorized = async (request: Request): Promise<Response> => {
    let token = await unlessAborted(tokens.current(), request.signal);
    for (let renewals = 0; ; renewals++) {
      const response = await send(withToken(request, token));
      if (response.status !== 401 || token === null || renewals === mostRenewals) return response;
      const next = await unlessAborted(tokens.after(token), request.signal);
      if (next === null) return response;
      await response.body?.cancel();
      token = next;
    }
  };
  const api = createFetchClient<paths>({
    baseUrl: url,
    redirect: "manual",
    fetch: patient(authorized, options),
  });
  api.use({
    async onResponse({ response }) {
      if (!response.ok) throw await errorOf(response);
    },
  });

  // A boundary: openapi-fetch cannot infer its types through this function. Callers have the types of `Client`.
  const call = (method: HttpMethod) =>
    (async (path: never, init: never) => (await api.request(method, path, init)).data) as unknown;
  const get = call("get") as Call<"get">;
  return {
    get,
    post: call("post") as Call<"post">,
    patch: call("patch") as Call<"patch">,
    delete: call("delete") as Call<"delete">,
    pages: (path, ...[init]) => pagesOf(get, path, init as PageInit | undefined) as never,
    async fetch(path, init) {
      // Without the slash, the token could go to another host: `@evil.example/`.
      if (!path.startsWith("/")) throw new TypeError(`path must begin with a slash, not "${path}"`);
      return authorized(new Request(url + path, { redirect: "manual", ...init }));
    },
  };
}

/** The time limit of a token request. All other requests wait for a token request. */
const tokenTimeoutMs = 30_000;

function inTime(send: (request: Request) => Promise<Response>): (request: Request) => Promise<Response> {
  return (request) => send(new Request(request, { signal: AbortSignal.timeout(tokenTimeoutMs) }));
}

interface PageInit {
  readonly params?: { readonly query?: { readonly cursor?: string } };
}

async function* pagesOf(get: Call<"get">, path: PagedPath, init: PageInit = {}): AsyncGenerator<Page, void> {
  let { cursor } = init.params?.query ?? {};
  for (;;) {
    const query = { ...init.params?.query, ...(cursor && { cursor }) };
    const page: Page = await get(path, { ...init, params: { ...init.params, query } });
    yield page;
    ({ cursor } = page.pagination);
    if (!page.pagination.has_more) return;
  }
}

/** Waits for a promise that other requests also wait for, but rejects as soon as `signal` is aborted. */
function unlessAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Returns a copy of the request with the token, so that the request can be sent again. */
function withToken(request: Request, token: string | null): Request {
  const copy = copyOf(request);
  if (token !== null) copy.headers.set("authorization", `Bearer ${token}`);
  return copy;
}
