/*
 * Code samples of a request: for the command line, JavaScript and Python.
 */

/** A request. */
export interface Call {
  readonly method: string;
  /** With `{name}` for each parameter of the path. */
  readonly url: string;
  readonly path: readonly Argument[];
  readonly query: readonly Argument[];
  readonly body: { readonly type: string; readonly example: unknown } | null;
  /** How it is allowed: by the credentials of an application, or by a token in a variable of this name. */
  readonly access: "client" | "TOKEN" | "ONAIR_ADMIN_KEY" | null;
}

interface Argument {
  readonly name: string;
  readonly value: unknown;
}

interface Sample {
  readonly language: string;
  readonly code: string;
}

export function samplesOf(call: Call): Sample[] {
  return [
    { language: "curl", code: curl(call) },
    { language: "JavaScript", code: javaScript(call) },
    { language: "Python", code: python(call) },
  ];
}

/** Returns the URL with its parameters. A list is a repeated parameter. */
export function urlOf({ url, path, query }: Pick<Call, "url" | "path" | "query">): string {
  const filled = url.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = path.find((argument) => argument.name === name)?.value;
    return value === undefined ? whole : encodeURIComponent(String(value));
  });
  const pairs = query.flatMap(({ name, value }) =>
    (Array.isArray(value) ? value : [value]).map((item) => `${name}=${encodeURIComponent(String(item))}`),
  );
  return pairs.length > 0 ? `${filled}?${pairs.join("&")}` : filled;
}

const json = "application/json";
const form = "application/x-www-form-urlencoded";

const fieldsOf = (example: unknown) =>
  Object.entries((example ?? {}) as Record<string, unknown>).map(
    ([name, value]) => [name, String(value)] as const,
  );

/** Quotes a word for a POSIX shell. */
const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

function curl(call: Call): string {
  const { method, body, access } = call;
  const lines = [method === "GET" ? "curl" : `curl -X ${method}`];
  if (access === "client") lines.push('-u "$CLIENT_ID:$CLIENT_SECRET"');
  else if (access) lines.push(`-H "Authorization: Bearer $${access}"`);
  if (body?.type === form) {
    for (const [name, value] of fieldsOf(body.example))
      lines.push(`--data-urlencode ${quoted(`${name}=${value}`)}`);
  } else if (body) {
    const text = typeof body.example === "string" ? body.example.trimEnd() : JSON.stringify(body.example);
    lines.push(`-H ${quoted(`Content-Type: ${body.type}`)}`, `--data-binary ${quoted(text)}`);
  }
  lines.push(quoted(urlOf(call)));
  return lines.join(" \\\n  ").replace("curl \\\n  ", "curl ");
}

function javaScript(call: Call): string {
  const { method, body, access } = call;
  const headers: string[] = [];
  if (access === "client") headers.push("Authorization: basic(clientId, clientSecret)");
  else if (access) headers.push(`Authorization: \`Bearer \${${access === "TOKEN" ? "token" : "key"}}\``);
  if (body && body.type !== form) headers.push(`"Content-Type": "${body.type}"`);
  const options: string[] = [];
  if (method !== "GET") options.push(`method: "${method}"`);
  if (headers.length > 0) options.push(`headers: { ${headers.join(", ")} }`);
  if (body) options.push(`body: ${javaScriptBody(body)}`);
  const basic =
    access === "client" ? `const basic = (id, secret) => "Basic " + btoa(id + ":" + secret);\n` : "";
  const init = options.length > 0 ? `, {\n${options.map((option) => `  ${option},\n`).join("")}}` : "";
  const read = method === "DELETE" ? "" : "\nconst answer = await response.json();";
  return `${basic}const response = await fetch("${urlOf(call)}"${init});\nif (!response.ok) throw new Error(await response.text());${read}`;
}

function javaScriptBody({ type, example }: NonNullable<Call["body"]>): string {
  if (type === form) {
    const pairs = fieldsOf(example).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    return `new URLSearchParams({ ${pairs.join(", ")} })`;
  }
  if (typeof example === "string") return JSON.stringify(example);
  return `JSON.stringify(${JSON.stringify(example, null, 2).replaceAll("\n", "\n  ")})`;
}

function python(call: Call): string {
  const { method, body, access } = call;
  const args = [JSON.stringify(urlOf(call))];
  if (access === "client") args.push("auth=(client_id, client_secret)");
  const headers: string[] = [];
  if (access && access !== "client")
    headers.push(`"Authorization": f"Bearer {${access === "TOKEN" ? "token" : "key"}}"`);
  if (body && body.type !== form && body.type !== json) headers.push(`"Content-Type": "${body.type}"`);
  if (headers.length > 0) args.push(`headers={${headers.join(", ")}}`);
  if (body?.type === form) args.push(`data=${pythonValue(Object.fromEntries(fieldsOf(body.example)))}`);
  else if (body?.type === json) args.push(`json=${pythonValue(body.example)}`);
  else if (body) args.push(`data=${JSON.stringify(body.example)}`);
  const read = method === "DELETE" ? "" : "\nanswer = response.json()";
  return `import requests\n\nresponse = requests.${method.toLowerCase()}(\n${args
    .map((argument) => `    ${argument.replaceAll("\n", "\n    ")},\n`)
    .join("")})\nresponse.raise_for_status()${read}`;
}

/** Returns a JSON value as a literal of Python. */
function pythonValue(value: unknown, indent = ""): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const deeper = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((item) => pythonValue(item, deeper))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${pythonValue(item, deeper)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  return `${open}\n${items.map((item) => `${deeper}${item},\n`).join("")}${indent}${close}`;
}
