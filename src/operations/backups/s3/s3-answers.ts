import { S3Fault } from "../s3.ts";

/*
 * Reads the XML of S3's answers. The time is linear in the length of an answer, whatever it contains, and the number of
 * elements is limited.
 */

/** The most entries of a list that S3 puts into one answer. */
const mostEntries = 1_000;
/** The longest text of a field: a key has 1,024 bytes, each of which may be an entity of six characters. */
const mostCharacters = 8_192;

/** The contents of all elements of this name, which has no attributes. Throws `S3Fault`. */
export function elements(xml: string, name: string): string[] {
  const [start, end] = [`<${name}>`, `</${name}>`];
  const found: string[] = [];
  for (let at = xml.indexOf(start); at !== -1; at = xml.indexOf(start, at)) {
    const to = xml.indexOf(end, at);
    if (to === -1) throw unreadable(`an incomplete ${name}`);
    if (found.length === mostEntries) throw unreadable(`more than ${mostEntries} entries at once`);
    found.push(xml.slice(at + start.length, to));
    at = to + end.length;
  }
  return found;
}

/** The text of the first element of this name; "" without one. Throws `S3Fault`. */
export function field(xml: string, name: string): string {
  const start = `<${name}>`;
  const at = xml.indexOf(start);
  if (at === -1) return "";
  const from = at + start.length;
  const to = xml.indexOf("<", from);
  if (to === -1 || !xml.startsWith(`</${name}>`, to)) throw unreadable(`an incomplete ${name}`);
  if (to - from > mostCharacters) throw unreadable(`a ${name} of more than ${mostCharacters} characters`);
  return xml.slice(from, to).replace(/&[a-z]{2,4};/g, (entity) => entities[entity] ?? entity);
}

function unreadable(what: string): S3Fault {
  return new S3Fault(`S3 sent ${what}: check --backup-endpoint.`, false);
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
};
