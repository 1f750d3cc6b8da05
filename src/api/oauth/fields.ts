import { OptionalKind, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { parseScopeNames, type Scope, type ScopeName, scopes, scopesWithin } from "../../domain/tokens.ts";
import { publicBodyBytes, readBytes, requireMediaType } from "../http/body.ts";
import { beyondApplication, OAuthError } from "./errors.ts";

/*
 * OAuth forms, read by the schema that a route declares as its body. By RFC 6749, sections 3.1 and 3.2, an empty
 * parameter counts as absent, an unknown one is ignored, and no parameter may be repeated.
 */

const formMediaType = "application/x-www-form-urlencoded";

/** A form with string fields. Elysia does not validate it, because `readFields` does. */
export function Form<Fields extends TProperties>(
  fields: Fields,
  options: { $id: string; description: string; example?: object },
) {
  const { example, ...about } = options;
  return Type.Object(fields, { ...asForm, ...about, ...(example && { examples: [example] }) });
}

/** One of several forms, distinguished by `grant_type`. */
export function FormByGrantType<Forms extends TObject[]>(
  forms: [...Forms],
  { example, ...about }: { $id: string; description: string; example: object },
) {
  return Type.Union(forms, { ...asForm, ...about, examples: [example] });
}

const asForm = {
  contentMediaType: formMediaType,
  noValidate: true,
  // Unknown parameters are ignored (RFC 6749, section 3.2).
  additionalProperties: true,
} as const;

/** Parameters by name. Empty ones are left out. */
export type Parameters = ReadonlyMap<string, string>;

/** Parameters, and the names of those that occur more than once, which is an error. */
export interface AskedParameters {
  readonly parameters: Parameters;
  readonly repeated: ReadonlySet<string>;
}

/** Reads the parameters of a query or form. */
export function readParameters(text: string): AskedParameters {
  const parameters = new Map<string, string>();
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
    // `resource` is the only standard parameter that may be repeated (RFC 8707, section 2). On Air ignores it.
    if (name === "resource") continue;
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
    if (value !== "") parameters.set(name, value);
  }
  return { parameters, repeated };
}

/** Reads the parameters of a client's form. Throws `invalid_request` for repeated ones. */
export async function readForm(request: Request, form: TSchema): Promise<Parameters> {
  requireMediaType(request, formMediaType);
  const bytes = await readBytes(request, publicBodyBytes);
  const { parameters, repeated } = readParameters(Buffer.from(bytes).toString());
  if (repeated.size > 0) throw new OAuthError("invalid_request", repetition(repeated, formsOf(form)));
  return parameters;
}

/** Returns the message for repeated parameters. It names only those of the forms, and no other text of the client. */
export function repetition(repeated: ReadonlySet<string>, forms: readonly TObject[]): string {
  const known = forms.flatMap(({ properties }) => Object.keys(properties));
  return `${known.find((name) => repeated.has(name)) ?? "A parameter"} is given more than once`;
}

/** Returns the alternatives of a form. */
function formsOf(form: TSchema): readonly TObject[] {
  return form["anyOf"] ?? [form];
}

/** Returns the fields of a form by its schema. Throws `invalid_request` for a missing one. */
export function readFields(form: TSchema, parameters: Parameters): Record<string, string> {
  const { properties } = (form["anyOf"] ? byGrantType(form["anyOf"], parameters) : form) as TObject;
  const fields: Record<string, string> = {};
  for (const [name, property] of Object.entries(properties)) {
    const text = OptionalKind in property ? parameters.get(name) : required(parameters, name);
    if (text !== undefined) fields[name] = text;
  }
  return fields;
}

function byGrantType(forms: readonly TObject[], parameters: Parameters): TObject {
  const grantTypes: string[] = forms.map(({ properties }) => properties["grant_type"]?.["const"]);
  const form = forms[grantTypes.indexOf(required(parameters, "grant_type"))];
  if (form) return form;
  const known = grantTypes.join(", ");
  throw new OAuthError("unsupported_grant_type", `The supported grant types are ${known}`);
}

function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw new OAuthError("invalid_request", `${name} is required`);
  return value;
}

/*
 * Fields that several OAuth endpoints share, and their examples in the reference.
 */

export const text = (description: string) => Type.String({ description });
export const optional = (description: string) => Type.Optional(text(description));

/** The credentials of a client in a form. */
export const clientFields = {
  client_id: optional("Client id of the application. Required unless you use HTTP Basic."),
  client_secret: optional("Client secret. Required unless you use HTTP Basic or are a public client."),
};

/** The field for requested scopes. @param rest a sentence about the default */
export const scopeField = (rest: string) => ({
  scope: optional(
    `Scopes separated by spaces: ${scopes.map((scope) => `\`${scope}\``).join(" and ")}. ${rest}`,
  ),
});

export const exampleClientId = "01KATHZX5M9S3E6R8B2D4F7G1H";
export const exampleRedirectUri = "https://app.example/callback";
export const exampleToken = "onair_at_u8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ0sF8gA3eK7qX9M";
export const exampleRefreshToken = "onair_rt_R5yW2nH6pL4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1v";

/** A form that names a token. */
export const TokenToLookAt = (example: object) =>
  Form(
    {
      token: text("An access token or a refresh token."),
      token_type_hint: optional("Ignored: the type is known from the token."),
      ...clientFields,
    },
    { $id: "TokenToLookAt", description: "A form that names a token.", example },
  );

/** Returns the requested scopes under the names in the request, or all that are `allowed`. Throws `invalid_scope`. */
export function readScopes(asked: string | undefined, allowed: readonly Scope[]): readonly ScopeName[] {
  if (asked === undefined) return allowed;
  const wanted = parseScopeNames(asked);
  if (!wanted || wanted.length === 0) {
    throw new OAuthError("invalid_scope", `scope may name ${scopes.join(" and ")}, separated by spaces`);
  }
  if (scopesWithin(wanted, allowed).length < wanted.length) {
    throw new OAuthError("invalid_scope", beyondApplication);
  }
  return wanted;
}
