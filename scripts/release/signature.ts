/* Signs the checksums of a release with an SSH key, in the format of `ssh-keygen -Y sign`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a signature is for. A signature that the same key made for something else does not verify here. */
const namespace = "onair-release";

/**
 * Writes the signature of a file beside it, with the suffix `.sig`. Throws when the key cannot be used.
 * @param key the path of a private key, or of the public key whose private key an agent or a security key holds
 */
export async function sign(file: string, key: string): Promise<void> {
  rmSync(`${file}.sig`, { force: true });
  const child = Bun.spawn(["ssh-keygen", "-Y", "sign", "-f", key, "-n", namespace, file], {
    stdin: "inherit", // ssh-keygen may ask for a passphrase
    stdout: "ignore",
    stderr: "pipe",
  });
  const [problem, code] = await Promise.all([child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${key} signs nothing: ${problem.trim()}`);
}

/** Checks that a key can sign. Throws when it cannot, so that nothing is built in vain. */
export async function requireKey(key: string): Promise<void> {
  if (Bun.which("ssh-keygen") === null) throw new Error("--sign needs ssh-keygen, of OpenSSH 8.1 or later");
  const directory = mkdtempSync(join(tmpdir(), "onair-signature-"));
  try {
    const file = join(directory, "text");
    writeFileSync(file, "");
    await sign(file, key);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
