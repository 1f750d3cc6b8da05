import { Encrypter } from "age-encryption";
import { DomainError } from "../domain/errors.ts";
import { writePrivately } from "./private-file.ts";

/** Throws `invalid_parameter` for a public key with a wrong checksum. */
export function encrypterFor(recipients: readonly string[]): Encrypter {
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw new DomainError(
        "invalid_parameter",
        `--backup-recipients: ${recipient} is not a public key of age: a character of it is wrong`,
      );
    }
  }
  return encrypter;
}

/** Encrypts a file into another one, which only its owner can read, in the format of age. */
export async function encryptFile(from: string, to: string, recipients: readonly string[]): Promise<void> {
  const content = await encrypterFor(recipients).encrypt(Bun.file(from).stream());
  await writePrivately(to, content, () => {});
}
