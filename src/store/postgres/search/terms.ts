import type { User } from "../../../domain/users.ts";
import { fold } from "../../../domain/validation/text.ts";
import { containedRuns, type Run, runsOf } from "../../rows/runs.ts";
import { isShortText, shortTextsOf } from "../../rows/short-texts.ts";

/** Separates the folded names of a user. No name contains it. */
const separator = "\n";

/** Returns the names of a user as the search compares them, username first. */
export function foldedNames({ username, display_name }: Pick<User, "username" | "display_name">): string {
  const [name, displayName] = [fold(username), fold(display_name)];
  return displayName === name ? name + separator : name + separator + displayName;
}

/** Returns the text to search for; null when no name can contain it. */
export function searchedText(query: string): string | null {
  const text = fold(query);
  return text === "" || text.includes(separator) || text.includes("\0") ? null : text;
}

/** The kinds of terms, which are a part of their hashes. */
const [trigram, beginning, run, short] = [1, 2, 3, 4];

/** Returns the indexed terms of folded names. They include `termsIn` of every text that the names contain. */
export function termsOf(names: string): number[] {
  const [name = "", displayName = ""] = names.split(separator);
  const found = new Set<number>();
  for (const text of [name, displayName]) {
    addTrigrams(text, found);
    for (const one of containedRuns(text)) found.add(ofRun(one));
    for (const one of shortTextsOf(text)) found.add(hash(short, pointsOf(one)));
  }
  found.add(beginningTerm(name));
  return [...found];
}

/** Returns the terms that every name has which contains the text; none for a short text that is not indexed. */
export function termsIn(text: string): number[] {
  if (isShortText(text)) return [hash(short, pointsOf(text))];
  const found = new Set<number>();
  addTrigrams(text, found);
  for (const one of runsOf(text)) found.add(ofRun(one));
  return [...found];
}

/** Returns the term that every username has which begins with the text. */
export function beginningTerm(text: string): number {
  return hash(beginning, pointsOf(text).slice(0, 3));
}

function addTrigrams(text: string, to: Set<number>): void {
  const points = pointsOf(text);
  for (let i = 2; i < points.length; i++) to.add(hash(trigram, points.slice(i - 2, i + 1)));
}

const ofRun = ({ character, length }: Run) => hash(run, [character.codePointAt(0) ?? 0, length]);

const pointsOf = (text: string) => Array.from(text, (character) => character.codePointAt(0) ?? 0);

/** Returns a 32-bit integer, which takes less space than text. Collisions do no harm, because names are compared. */
function hash(kind: number, numbers: readonly number[]): number {
  let mixed = 0x811c9dc5 ^ kind;
  for (const number of numbers) mixed = Math.imul(mixed ^ number, 0x01000193);
  return mixed ^ (mixed >>> 15);
}
