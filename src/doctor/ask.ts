const timeoutMs = 5_000;
const longestAnswer = 256 * 1024;

/** Whether a host, with or without the brackets of a URL, is this machine alone, or all of its addresses. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|\[?::1?\]?|0\.0\.0\.0)$/i.test(host);
}

/** What a server said. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** By the server's clock; null where it did not say. */
  readonly at: number | null;
}

/** Asks a server; what it did instead of answering is a text. Never follows it elsewhere, nor waits for long. */
export async function ask(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer | string> {
  try {
    const response = await fetch(url, {
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      // What is meant for this machine goes to no proxy of the environment.
      ...(isLoopback(new URL(url).hostname) && { proxy: false }),
    });
    const body = await textOf(response);
    const date = Date.parse(response.headers.get("date") ?? "");
    return { status: response.status, body, at: Number.isNaN(date) ? null : date };
  } catch (error) {
    const { name, code } = error as { name?: string; code?: string };
    return name === "TimeoutError" ? `nothing within ${timeoutMs / 1000} s` : String(code ?? name);
  }
}

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > longestAnswer) break;
  }
  return text;
}

/** The field of an answer in JSON; undefined where it has none. */
export function fieldOf(answer: Answer, name: string): unknown {
  try {
    const value: unknown = JSON.parse(answer.body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  } catch {
    return undefined;
  }
}
