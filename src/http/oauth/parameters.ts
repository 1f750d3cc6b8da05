import { parseScopeNames, type Scope, type ScopeName, scopesWithin } from "../../domain/tokens.ts";
import { publicBodyBytes, readBytes, requireMediaType } from "../body.ts";
import { OAuthError } from "./errors.ts";

/** Parameters by name. One without a value counts as left out (RFC 6749, sections 3.1 and 3.2). */
export type Parameters = ReadonlyMap<string, string>;

/** Reads parameters, and the names of those that are given more than once, which none may be. */
export function readParameters(text: string): { parameters: Parameters; repeated: ReadonlySet<string> } {
  const parameters = new Map<string, string>();
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
    if (value !== "") parameters.set(name, value);
  }
  return { parameters, repeated };
}

/** The form of a request to an endpoint that clients call. */
export async function readForm(request: Request): Promise<Parameters> {
  requireMediaType(request, "application/x-www-form-urlencoded");
  const bytes = await readBytes(request, publicBodyBytes);
  const { parameters, repeated } = readParameters(Buffer.from(bytes).toString());
  if (repeated.size > 0) throw new OAuthError("invalid_request", "A parameter is given more than once");
  return parameters;
}

/** A parameter that must be given. */
export function required(form: Parameters, name: string): string {
  const value = form.get(name);
  if (value === undefined) throw new OAuthError("invalid_request", `${name} is required`);
  return value;
}

/** The scopes asked for, as they are named there, or all that are `allowed`; throws `invalid_scope`. */
export function readScopes(asked: string | undefined, allowed: readonly Scope[]): readonly ScopeName[] {
  if (asked === undefined) return allowed;
  const wanted = parseScopeNames(asked);
  if (!wanted || wanted.length === 0) {
    throw new OAuthError("invalid_scope", "The scope names one that does not exist");
  }
  if (scopesWithin(wanted, allowed).length < wanted.length) {
    throw new OAuthError("invalid_scope", "The application may not have all of these scopes");
  }
  return wanted;
}
