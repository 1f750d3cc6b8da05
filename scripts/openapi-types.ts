/*
 * Prints the TypeScript types of an OpenAPI document, made by openapi-typescript:
 *
 *     bun scripts/openapi-types.ts openapi.json > types.ts
 *
 * openapi-typescript needs the API of TypeScript 5, which the compiler of this project no longer has.
 */
await Bun.plugin({
  name: "TypeScript 5 for openapi-typescript",
  async setup(build) {
    const typescript = await import("typescript-5");
    build.module("typescript", () => ({ exports: { ...typescript }, loader: "object" }));
  },
});

const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write("Usage: bun scripts/openapi-types.ts FILE\n");
  process.exit(2);
}
const { default: openapiTypescript, astToString, NULL } = await import("openapi-typescript");
const document = await Bun.file(file).text();
// A field with a default is optional in a request.
const types = await openapiTypescript(document, {
  defaultNonNullable: false,
  // openapi-typescript reads `const: null` as unknown.
  transform: (schema) => (schema.const === null ? NULL : undefined),
});
process.stdout.write(astToString(types));

export {};
