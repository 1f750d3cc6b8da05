import { readDestination } from "../backups/destination.ts";
import { baseUrl } from "../runtime/base-url.ts";
import { duration, entriesOf, integer, nonEmpty, type SettingTable } from "./setting-values.ts";

/** Settings of backups. */
export const backupSettings = {
  backupEvery: {
    value: "DURATION",
    default: null,
    help: "interval of automatic backups, aligned to UTC: 24h is every midnight, 1h every full hour",
    read: duration,
  },
  backupTo: {
    value: "DESTINATION",
    default: null,
    help: "destination of backups: a directory, or s3://bucket/prefix with credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in the file that AWS_SHARED_CREDENTIALS_FILE names (default: backups/ in the data directory)",
    read(text: string) {
      readDestination(text);
      return text;
    },
  },
  backupEndpoint: {
    value: "URL",
    default: null,
    help: "URL of S3-compatible storage other than AWS (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL)",
    read: baseUrl,
  },
  backupRegion: {
    value: "REGION",
    default: null,
    help: "region of the S3 storage (default: AWS_REGION, AWS_DEFAULT_REGION, us-east-1)",
    read: nonEmpty,
  },
  backupRecipients: {
    value: "LIST",
    default: "",
    help: 'encrypt backups for these age public keys (age1…), separated by commas; "onair backup key" makes a key pair',
    read: recipientList,
  },
  keepBackups: {
    value: "N",
    default: "3",
    help: "number of backups to keep; older ones are deleted when a new one is complete",
    read: integer(1, 10_000),
  },
  keepBackupsDays: {
    value: "DAYS",
    default: null,
    help: "delete backups older than this, except the newest three (default: only --keep-backups applies)",
    read: integer(1, 3_650),
  },
} satisfies SettingTable;

/** Parses age public keys, separated by commas. Throws a `TypeError`. The checksum of a key is left to age. */
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
