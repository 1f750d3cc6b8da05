const packaged = "../../../node_modules/@scalar/fastify-api-reference/dist/index.js";

/**
 * Scalar's script for browsers, which its package for Fastify has as one string. `@scalar/api-reference` has it as a file,
 * and beside it 280 packages that it was made from.
 *
 * The build puts a file in place of this module. Throws when the package has another form.
 */
export async function scalarScript(): Promise<Uint8Array<ArrayBuffer>> {
  const text = await Bun.file(new URL(packaged, import.meta.url)).text();
  const [, literal] = /^var standalone_default = "(.*?)";\n\/\/#endregion/ms.exec(text) ?? [];
  if (literal === undefined)
    throw new Error("@scalar/fastify-api-reference has no script where it used to be");
  const script = literal.replace(/\\(.)/g, (escaped, character: string) => {
    if (character === "n") return "\n";
    if (character === '"' || character === "\\") return character;
    throw new Error(`@scalar/fastify-api-reference has an unknown escape in its script: ${escaped}`);
  });
  return new TextEncoder().encode(script);
}
