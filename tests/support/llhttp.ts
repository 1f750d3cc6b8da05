import { createRequire } from "node:module";

/** A request as `node:http` reads it. */
export interface LlhttpRequest {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn, as they came. */
  readonly fields: readonly string[];
  readonly body: string;
}

// A boundary: node's own parser, which Bun has too and whose types nobody has written.
const { HTTPParser, methods } = createRequire(import.meta.url)("node:_http_common");

/** The requests that llhttp finds whole in these bytes, each a character; strictly, as `node:http` has it. */
export function llhttpRequests(input: string): LlhttpRequest[] {
  const found: LlhttpRequest[] = [];
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {}, 64 * 1024, HTTPParser.kLenientNone);
  let fields: string[] = [];
  let url = "";
  let method = "";
  let body = "";
  let isHead = true;
  parser[HTTPParser.kOnHeaders] = (some: string[], urlPart: string) => {
    // Otherwise they are trailers.
    if (!isHead) return;
    fields.push(...some);
    url += urlPart;
  };
  parser[HTTPParser.kOnHeadersComplete] = (
    _major: number,
    _minor: number,
    some: string[] | undefined,
    methodIndex: number,
    urlPart: string | undefined,
  ) => {
    fields.push(...(some ?? []));
    url += urlPart ?? "";
    method = methods[methodIndex];
    isHead = false;
    return 0;
  };
  parser[HTTPParser.kOnBody] = (bytes: Uint8Array) => {
    body += Buffer.from(bytes).toString("latin1");
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    found.push({ method, url, fields, body });
    [fields, url, method, body, isHead] = [[], "", "", "", true];
  };
  parser.execute(Buffer.from(input, "latin1"));
  parser.close();
  return found;
}
