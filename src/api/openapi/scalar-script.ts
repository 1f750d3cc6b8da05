const packaged = "../../../node_modules/@scalar/fastify-api-reference/dist/index.js";

/**
 * Returns Scalar's script for browsers, which is a string literal in its package for Fastify. `@scalar/api-reference`
 * has it as a file, but depends on 280 packages.
 *
 * The build replaces this module by a file. Throws when the package has another form.
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
