import { readPlace } from "../backups/place.ts";
import { baseUrl } from "../runtime/base-url.ts";
import { duration, entriesOf, integer, nonEmpty, type SettingTable } from "./setting-values.ts";

/** Settings of backups. */
export const backupSettings = {
  backupEvery: {
    value: "DURATION",
    default: null,
    help: "make backups by themselves, at multiples of this in UTC: 24h is every midnight, 1h every full hour",
    read: duration,
  },
  backupTo: {
    value: "PLACE",
    default: null,
    help: "where backups go: a directory, or s3://bucket/prefix with the credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in the file that AWS_SHARED_CREDENTIALS_FILE names (default: backups/ of the data directory)",
    read(text: string) {
      readPlace(text);
      return text;
    },
  },
  backupEndpoint: {
    value: "URL",
    default: null,
    help: "S3-compatible storage that is not of AWS (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL)",
    read: baseUrl,
  },
  backupRegion: {
    value: "REGION",
    default: null,
    help: "its region (default: AWS_REGION, AWS_DEFAULT_REGION, us-east-1)",
    read: nonEmpty,
  },
  backupRecipients: {
    value: "LIST",
    default: "",
    help: 'encrypt backups for these public keys of age (age1…), separated by commas; "onair backup key" makes a pair',
    read: recipientList,
  },
  keepBackups: {
    value: "N",
    default: "3",
    help: "backups that are kept; older ones go when a new one is whole",
    read: integer(1, 10_000),
  },
  keepBackupsDays: {
    value: "DAYS",
    default: null,
    help: "how long backups are kept, but for the newest three (default: until there are more than --keep-backups)",
    read: integer(1, 3_650),
  },
} satisfies SettingTable;

/** Public keys of age, separated by commas. Throws a `TypeError`; the checksum in a key is checked by age itself. */
function recipientList(text: string): string[] {
  const keys = entriesOf(text);
  const wrong = keys.find((key) => !/^age1[02-9ac-hj-np-z]{58,2000}$/.test(key));
  if (wrong === undefined) return keys;
  if (/^AGE-SECRET-KEY-/i.test(wrong)) {
    const advice = 'the secret key (keep it elsewhere; only "onair restore" needs it)';
    throw new TypeError(`must be public keys of age, like age1…, and ${advice} is not one`);
  }
  throw new TypeError(`must be public keys of age, like age1…, and "${wrong.slice(0, 80)}" is not one`);
}
