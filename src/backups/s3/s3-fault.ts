import { DomainError } from "../../domain/errors.ts";

/** A failed request to S3. The message says what to do. */
export class S3Fault extends DomainError {
  constructor(
    message: string,
    /** Whether the same request may succeed when it is repeated. */
    readonly isTransient: boolean,
    /** The error code of S3; "" without one. */
    readonly reason = "",
  ) {
    super("unavailable", message, { retryAfterSeconds: 60 });
  }
}

/** The storage, as messages name it. */
interface Named {
  /** The address of the server. */
  readonly host: string;
  readonly bucket: string;
  readonly region: string;
}

/** The error for an answer with an error status. */
export function answeredFault(status: number, body: string, { host, bucket, region }: Named): S3Fault {
  const reason = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(body)?.[1] ?? "";
  const said = `${status}${reason === "" ? "" : ` ${reason}`}`;
  const isTransient = status === 408 || status === 429 || status >= 500;
  const advice = adviceOf(status, reason, bucket, region);
  return new S3Fault(`S3 at ${host} answered ${said}: ${advice}`, isTransient, reason);
}

function adviceOf(status: number, reason: string, bucket: string, region: string): string {
  if (reason === "RequestTimeTooSkewed")
    return "the clock of this machine is more than 15 minutes off; set it, by NTP if possible.";
  if (reason === "NoSuchBucket") return `create the bucket ${bucket}, or set another with --backup-to.`;
  if (reason === "NoSuchKey") return "the backup no longer exists.";
  if (reason === "InvalidAccessKeyId" || reason === "SignatureDoesNotMatch" || reason === "ExpiredToken")
    return "the credentials are wrong; correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or their file.";
  if (status === 401 || status === 403)
    return `let these credentials list, read, write and delete in the bucket ${bucket}.`;
  if (status === 301 || status === 307 || reason === "AuthorizationHeaderMalformed")
    return `the bucket ${bucket} is not in the region ${region}; set --backup-region.`;
  if (status === 404) return "check --backup-to and --backup-endpoint.";
  if (status === 408 || status === 429 || status >= 500)
    return "it is overloaded or has failed; try again later.";
  return "check --backup-to, --backup-endpoint and --backup-region.";
}

/** The error for a request without a complete answer. */
export function brokenFault(error: unknown, host: string, timeoutMs: number): DomainError {
  if (error instanceof DomainError) return error;
  const { name, code, message } = error as { name?: string; code?: string; message?: string };
  if (name === "TimeoutError" || name === "AbortError")
    return new S3Fault(
      `S3 at ${host} did not respond for ${timeoutMs / 1000} s: check that it is running.`,
      true,
    );
  const isRefused = code === "ConnectionRefused" || code === "ECONNREFUSED";
  const what = isRefused ? "cannot be reached" : "closed the connection";
  return new S3Fault(
    `S3 at ${host} ${what} (${code ?? message}): check --backup-endpoint and the network.`,
    true,
  );
}
