import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { DomainError } from "../../domain/errors.ts";
import type { AwsVariables } from "../destination.ts";

interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * Reads the credentials from the variables of AWS, else from the file of AWS's own tools. They are read for each
 * backup, so a file may be replaced while the server runs. Throws `unavailable`.
 */
export function readCredentials(aws: AwsVariables): S3Credentials {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = aws;
  if (AWS_ACCESS_KEY_ID && AWS_SECRET_ACCESS_KEY) {
    return {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    };
  }
  const file = aws.AWS_SHARED_CREDENTIALS_FILE ?? join(homedir(), ".aws", "credentials");
  const profile = aws.AWS_PROFILE ?? "default";
  const values = profileIn(textOf(file), profile);
  const [accessKeyId, secretAccessKey, sessionToken] = [
    values["aws_access_key_id"],
    values["aws_secret_access_key"],
    values["aws_session_token"],
  ];
  if (accessKeyId && secretAccessKey)
    return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  throw new DomainError(
    "unavailable",
    `No credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them into ${file} under [${profile}].`,
  );
}

/** Returns "" when the file cannot be read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** The values of a section of an INI file. */
function profileIn(text: string, profile: string): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  let section = "";
  for (const line of text.split(/\r?\n/)) {
    section = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line)?.[1] ?? section;
    const [, name, value] = /^\s*([a-z_]+)\s*=\s*(.*?)\s*$/i.exec(line) ?? [];
    if (section === profile && name !== undefined && value !== undefined) values[name.toLowerCase()] = value;
  }
  return values;
}
