import { Decrypter, Encrypter, generateIdentity, identityToRecipient } from "age-encryption";
import { DomainError } from "../../domain/errors.ts";
import { StoreError } from "../../domain/store.ts";
import { writePrivately } from "./files.ts";

/** Returns an encrypter for public keys of age. Throws `invalid_parameter` for a key with a wrong checksum. */
export function encrypterFor(recipients: readonly string[]): Encrypter {
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw new DomainError(
        "invalid_parameter",
        `--backup-recipients: ${recipient} is not a public key of age: its checksum does not match`,
      );
    }
  }
  return encrypter;
}

/** Encrypts a file in the format of age. The encrypted file is readable only for its owner. */
export async function encryptFile(from: string, to: string, recipients: readonly string[]): Promise<void> {
  const content = await encrypterFor(recipients).encrypt(Bun.file(from).stream());
  await writePrivately(to, content, () => {});
}

/**
 * Decrypts content as it arrives. No altered content is returned. Throws a `StoreError` when no secret key fits, and
 * when the content is damaged or truncated.
 * @param identities `AGE-SECRET-KEY-1…`
 */
export async function* decrypted(
  content: ReadableStream<Uint8Array>,
  identities: readonly string[],
): AsyncGenerator<Uint8Array> {
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  let isBegun = false;
  try {
    const chunks = await decrypter.decrypt(content);
    isBegun = true;
    yield* chunks;
  } catch (error) {
    // Failures to read from the destination already have a message.
    if (error instanceof DomainError || error instanceof StoreError) throw error;
    const { message, code } = error as NodeJS.ErrnoException;
    if (code !== undefined) throw error;
    if (!isBegun && message.startsWith("no identity matched"))
      throw new StoreError(
        "it is encrypted for another key than that of --identity: name the file with the matching secret key",
      );
    throw new StoreError(
      `it is encrypted, and damaged or incomplete (${message}): use another backup of "onair backup list"`,
    );
  }
}

/** Throws a `TypeError` for a text that is not a secret key of age. */
export function requireIdentity(identity: string): void {
  try {
    new Decrypter().addIdentity(identity);
  } catch {
    throw new TypeError("the checksum of a key does not match");
  }
}

/** Generates a pair of keys, in the file format of age's own tool. */
export async function newKeyFile(): Promise<string> {
  const identity = await generateIdentity();
  const recipient = await identityToRecipient(identity);
  return `# public key, for --backup-recipients: ${recipient}\n${identity}\n`;
}
