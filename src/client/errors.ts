/** A wrong field of a request. */
interface WrongField {
  readonly in: string;
  readonly field: string;
  readonly message: string;
}

/** The details of an error answer. */
interface ErrorDetails {
  /** The HTTP status. */
  readonly status: number;
  /** Like `invalid_parameter`; from the token endpoint like `invalid_client`; "" when the answer has none. */
  readonly code: string;
  /** The id under which the server logged the request; "" when there is none. */
  readonly requestId: string;
  /** All wrong fields of the request. */
  readonly errors: readonly WrongField[];
  /** The wait requested by the server; null for none. */
  readonly retryAfterMs: number | null;
  /** The target of a redirect, which is not followed. */
  readonly location: string | null;
  /** The whole answer, parsed when it is JSON. */
  readonly body: unknown;
}

/** An error answer of the API, thrown after all repetitions have failed. */
export class OnairError extends Error {
  override name = "OnairError";
  constructor(
    message: string,
    readonly details: ErrorDetails,
  ) {
    super(message);
  }

  get status(): number {
    return this.details.status;
  }

  get code(): string {
    return this.details.code;
  }
}

/** Reads an error answer. */
export async function errorOf(response: Response): Promise<OnairError> {
  const { status, headers } = response;
  const text = await response.text();
  const body = parsed(text);
  const { message, code, error, error_description, errors, request_id } = isRecord(body) ? body : {};
  const said = message ?? error_description;
  return new OnairError(typeof said === "string" ? said : `The answer was ${status}`, {
    status,
    code: textOf(error ?? code),
    requestId: textOf(request_id) || (headers.get("x-request-id") ?? ""),
    errors: Array.isArray(errors) ? errors : [],
    retryAfterMs: retryAfterMs(response),
    location: headers.get("location"),
    body: body ?? text,
  });
}

/** Returns the wait in `Retry-After`, which has seconds or a date; null when there is none. */
export function retryAfterMs({ headers }: Response, now = Date.now()): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

const textOf = (value: unknown) => (typeof value === "string" ? value : "");

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
