import { entriesOf } from "../config/setting-values.ts";

/** Public keys of age, separated by commas. Throws a `TypeError`; the checksum in a key is checked by age itself. */
export function recipientList(text: string): string[] {
  const keys = entriesOf(text);
  const wrong = keys.find((key) => !/^age1[02-9ac-hj-np-z]{58,2000}$/.test(key));
  if (wrong === undefined) return keys;
  if (/^AGE-SECRET-KEY-/i.test(wrong)) {
    const advice = 'the secret key (keep it elsewhere; only "onair restore" needs it)';
    throw new TypeError(`must be public keys of age, like age1…, and ${advice} is not one`);
  }
  throw new TypeError(`must be public keys of age, like age1…, and "${wrong.slice(0, 80)}" is not one`);
}
