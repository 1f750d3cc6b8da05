/** Describes an error in a sentence; falls back on the message of the system or of Bun. */
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
  EACCES: "Permission denied for this user; check its owner and mode",
  EPERM: "This user may not do this",
  EBUSY: "Another program uses it",
  EDQUOT: "The disk quota is exceeded",
  EEXIST: "It exists already",
  EFBIG: "The file would be larger than allowed",
  EIO: "The disk failed to read or write",
  EISDIR: "That is a directory",
  ELOOP: "The path has a loop of symbolic links",
  EMFILE: "This process has too many open files (ulimit -n)",
  ENAMETOOLONG: "The name is too long",
  ENFILE: "The system has too many open files",
  ENOENT: "There is no such file or directory",
  ENOSPC: "The disk is full; free some space there, and try again",
  ENOTDIR: "A part of the path is not a directory",
  EROFS: "The file system is read-only",
  ETXTBSY: "Another program runs it",
};

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there. Is the server running?",
  ConnectionRefused: "nothing listens there. Is the server running?",
  ECONNRESET: "the other end closed the connection",
  ConnectionClosed: "the other end closed the connection",
  EHOSTUNREACH: "the network has no route to this address",
  ENETUNREACH: "the network has no route to this address",
  ENOTFOUND: "there is no host with this name",
  EAI_AGAIN: "the name cannot be resolved now; check the network, and try again",
  ETIMEDOUT: "nothing answered in time",
  EPROTO:
    "the TLS handshake failed: the server may use http instead of https, or require a client certificate",
  Malformed_HTTP_Response: "the program that answers there is not an HTTP server",
  InvalidHTTPResponse: "the program that answers there is not an HTTP server",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "its certificate is self-signed; to trust it, set NODE_EXTRA_CA_CERTS to a file with it",
  SELF_SIGNED_CERT_IN_CHAIN:
    "its certificate is signed by an unknown authority; set NODE_EXTRA_CA_CERTS to a file with the authority's certificate",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "its certificate is signed by an unknown authority; set NODE_EXTRA_CA_CERTS to a file with the authority's certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "its certificate is signed by an unknown authority; set NODE_EXTRA_CA_CERTS to a file with the authority's certificate",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
};

/** Describes why the answer to a request is missing or incomplete. */
export function connectionFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError") return `nothing answered in time (${message})`;
  return (code !== undefined && Object.hasOwn(faults, code) ? faults[code] : code) ?? message;
}
