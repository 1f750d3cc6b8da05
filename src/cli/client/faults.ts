/** Describes an error for people; falls back on the message of the system or of Bun. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined) return error.message;
  if (Object.hasOwn(faults, code)) return `The connection broke off: ${faults[code]}`;
  const sentence = syscall === undefined ? undefined : sentences[code];
  if (sentence === undefined) return error.message;
  return path === undefined ? sentence : `${path}: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}

const sentences: Readonly<Record<string, string>> = {
  EACCES: "This user may not use it; does it belong to another user?",
  EPERM: "This user may not do that",
  EBUSY: "Another program uses it",
  EDQUOT: "The disk quota is used up",
  EEXIST: "It exists already",
  EFBIG: "The file would be larger than allowed",
  EIO: "The disk fails",
  EISDIR: "That is a directory",
  ELOOP: "The links lead in a circle",
  EMFILE: "This process may not open more files (ulimit -n)",
  ENAMETOOLONG: "The name is too long",
  ENFILE: "The system has too many open files",
  ENOENT: "There is no such file or directory",
  ENOSPC: "The disk is full",
  ENOTDIR: "A part of the path is not a directory",
  EROFS: "The file system is read-only",
  ETXTBSY: "Another program runs it",
};

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there. Is the server running?",
  ConnectionRefused: "nothing listens there. Is the server running?",
  ECONNRESET: "the other end closed the connection",
  ConnectionClosed: "the other end closed the connection",
  EHOSTUNREACH: "there is no way to this address",
  ENETUNREACH: "there is no way to this address",
  ENOTFOUND: "there is no host of this name",
  EAI_AGAIN: "the name cannot be looked up now",
  ETIMEDOUT: "nothing answered in time",
  EPROTO: "the TLS handshake failed: it may be http and not https, or ask for a client certificate",
  Malformed_HTTP_Response: "what answers there is not an HTTP server",
  InvalidHTTPResponse: "what answers there is not an HTTP server",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed; NODE_EXTRA_CA_CERTS can name a file with it",
  SELF_SIGNED_CERT_IN_CHAIN:
    "its certificate is of an unknown authority; NODE_EXTRA_CA_CERTS can name a file with that",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "its certificate is of an unknown authority; NODE_EXTRA_CA_CERTS can name a file with that",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "its certificate is of an unknown authority; NODE_EXTRA_CA_CERTS can name a file with that",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
};

/** Describes why a request got no answer, or an incomplete one. */
export function connectionFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError") return `nothing answered in time (${message})`;
  return (code !== undefined && Object.hasOwn(faults, code) ? faults[code] : code) ?? message;
}
