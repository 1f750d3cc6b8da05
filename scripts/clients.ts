/*
 * Checks both OpenAPI documents with external tools:
 *
 *     bun run clients
 *
 * Spectral's OAS rules must find nothing, and the clients made by openapi-typescript, openapi-python-client and
 * oapi-codegen (with its defaults) must compile. Needs Internet access, Python 3 and Go; the first run takes minutes.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const spectral = "@stoplight/spectral-cli@6.16.3";
const pythonClient = "openapi-python-client==0.29.1";
const goGenerator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";
const goRuntime = "github.com/oapi-codegen/runtime@v1.8.0";

const root = join(import.meta.dir, "..");
const directory = mkdtempSync(join(tmpdir(), "onair-clients-"));
const at = (...path: string[]) => join(directory, ...path);

/** Runs a command and returns its output. Throws with all output when it fails. */
async function run(command: readonly string[], cwd = directory): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stderr: "pipe" });
  const [output, complaints, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  if (exitCode === 0) return output;
  throw new Error(`${command.join(" ")}\n${output}${complaints}`);
}

async function documents(): Promise<string[]> {
  const main = join(root, "src/main.ts");
  await run([process.execPath, main, "openapi", "--out", at("public.json")]);
  await run([process.execPath, main, "openapi", "--admin", "--out", at("admin.json")]);
  return ["public", "admin"];
}

async function lint(name: string): Promise<void> {
  await Bun.write(at(".spectral.yaml"), 'extends: ["spectral:oas"]\n');
  const flags = ["--ruleset", ".spectral.yaml", "--fail-severity", "hint"];
  await run(["bunx", "--package", spectral, "spectral", "lint", `${name}.json`, ...flags]);
}

async function typescript(name: string): Promise<void> {
  const types = await run([process.execPath, join(root, "scripts/openapi-types.ts"), at(`${name}.json`)]);
  await Bun.write(at(`${name}.ts`), types);
  await run([join(root, "node_modules/.bin/tsc"), "--strict", "--noEmit", "--types", "", `${name}.ts`]);
}

async function python(name: string): Promise<void> {
  const bin = (program: string) => at("python", "bin", program);
  if (!(await Bun.file(bin("openapi-python-client")).exists())) {
    await run(["python3", "-m", "venv", "python"]);
    await run([bin("pip"), "install", "--quiet", pythonClient]);
  }
  await run([
    bin("openapi-python-client"),
    "generate",
    "--path",
    `${name}.json`,
    "--output-path",
    `python-${name}`,
  ]);
  await run([bin("python"), "-m", "compileall", "-q", `python-${name}`]);
}

async function go(name: string): Promise<void> {
  const module = at("go");
  if (!(await Bun.file(join(module, "go.mod")).exists())) {
    mkdirSync(module);
    await run(["go", "mod", "init", "clients"], module);
  }
  mkdirSync(join(module, name));
  const client = await run(["go", "run", goGenerator, "-package", name, at(`${name}.json`)], module);
  await Bun.write(join(module, name, "client.go"), client);
  await run(["go", "get", goRuntime], module);
  await run(["go", "mod", "tidy"], module);
  await run(["go", "build", `./${name}`], module);
}

try {
  const tools = {
    Spectral: lint,
    "openapi-typescript": typescript,
    "openapi-python-client": python,
    "oapi-codegen": go,
  };
  for (const name of await documents()) {
    for (const [tool, check] of Object.entries(tools)) {
      await check(name);
      process.stdout.write(`${name}: ${tool} has no complaint\n`);
    }
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
