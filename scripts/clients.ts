/*
 * Checks both OpenAPI documents with external tools:
 *
 *     bun run clients
 *
 * Spectral's OAS rules must find nothing in the OpenAPI 3.1 form, and the clients made by openapi-typescript,
 * orval, @hey-api/openapi-ts, openapi-python-client and oapi-codegen (with its defaults) must compile. Those of OpenAPI
 * Generator must compile for Go and TypeScript, and in the OpenAPI 3.0 form also for Python, and so must that of
 * progenitor for Rust. Needs Internet access, npm, Python 3, Go, Java and Rust; the first run takes minutes.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const spectral = "@stoplight/spectral-cli@6.16.3";
const pythonClient = "openapi-python-client==0.29.1";
// Has the Java archive of OpenAPI Generator.
const javaGenerator = "openapi-generator-cli==7.26.0";
const orval = "orval@8.38.0";
const heyApi = "@hey-api/openapi-ts@0.99.0";
const goGenerator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";
const goRuntime = "github.com/oapi-codegen/runtime@v1.8.0";

const progenitor = "0.15.1";

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
  await run([process.execPath, main, "openapi", "--openapi", "3.0", "--out", at("public-3.0.json")]);
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
  await compile(`${name}.ts`);
}

async function compile(file: string): Promise<void> {
  const options = ["--strict", "--noEmit", "--ignoreConfig", "--skipLibCheck", "--types", ""];
  const modules = ["--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"];
  await run([
    join(root, "node_modules/.bin/tsc"),
    ...options,
    ...modules,
    "--lib",
    "es2022,dom,dom.iterable",
    file,
  ]);
}

async function orvalClient(name: string): Promise<void> {
  const target = `orval-${name}/client.ts`;
  await run(["bunx", orval, "--input", `${name}.json`, "--output", target, "--client", "fetch"]);
  await compile(target);
}

async function heyApiClient(name: string): Promise<void> {
  // It needs the API of TypeScript 5.
  const packages = [heyApi, "typescript@5.9.3"].map((one) => `--package=${one}`);
  await run([
    "npm",
    "exec",
    "--yes",
    ...packages,
    "--",
    "openapi-ts",
    "-i",
    `${name}.json`,
    "-o",
    `hey-${name}`,
  ]);
  await compile(`hey-${name}/sdk.gen.ts`);
}

/** Makes clients by OpenAPI Generator. It writes webhooks of OpenAPI 3.1 that Python cannot parse. */
async function javaClients(name: string): Promise<void> {
  const is30 = name.endsWith("3.0");
  for (const language of ["go", "typescript-fetch", ...(is30 ? ["python"] : [])]) {
    const to = at(`generator-${language}-${name}`);
    const generator = await pythonProgram("openapi-generator-cli", javaGenerator);
    await run([generator, "generate", "-i", `${name}.json`, "-g", language, "-o", to]);
    if (language === "python") await run(["python3", "-m", "compileall", "-q", to]);
    else if (language === "typescript-fetch") await compile(join(to, "index.ts"));
    else {
      await run(["go", "mod", "tidy"], to);
      await run(["go", "build", "./..."], to);
    }
  }
}

/** Returns the path of a program of a Python package, installed on first use. */
async function pythonProgram(program: string, from: string): Promise<string> {
  const bin = (name: string) => at("python", "bin", name);
  if (!(await Bun.file(bin("pip")).exists())) await run(["python3", "-m", "venv", "python"]);
  if (!(await Bun.file(bin(program)).exists())) await run([bin("pip"), "install", "--quiet", from]);
  return bin(program);
}

async function python(name: string): Promise<void> {
  await run([
    await pythonProgram("openapi-python-client", pythonClient),
    "generate",
    "--path",
    `${name}.json`,
    "--output-path",
    `python-${name}`,
  ]);
  await run(["python3", "-m", "compileall", "-q", `python-${name}`]);
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

/** Makes a client by progenitor, which has no command that writes only the code, and reads OpenAPI 3.0 only. */
async function rust(name: string): Promise<void> {
  const crate = (is: string, dependencies: readonly string[]) =>
    Bun.write(
      at("rust", is, "Cargo.toml"),
      `[package]\nname = "${is}"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n${dependencies.join("\n")}\n`,
    );
  await crate("generator", [`progenitor-impl = "=${progenitor}"`, 'openapiv3 = "2"', 'serde_json = "1"']);
  const program = `fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let document = std::fs::File::open(&arguments[1]).unwrap();
    let document = serde_json::from_reader(document).unwrap();
    let code = progenitor_impl::Generator::default().generate_tokens(&document).unwrap();
    std::fs::write(&arguments[2], code.to_string()).unwrap();
}
`;
  await Bun.write(at("rust", "generator", "src", "main.rs"), program);
  const client = at("rust", "client");
  await crate("client", [
    `progenitor-client = "=${progenitor}"`,
    'bytes = "1"',
    'chrono = { version = "0.4", features = ["serde"] }',
    'futures-core = "0.3"',
    'regress = "0.11"',
    'reqwest = { version = "0.13", default-features = false, features = ["json", "stream", "form", "query"] }',
    'serde = { version = "1", features = ["derive"] }',
    'serde_json = "1"',
    'serde_urlencoded = "0.7"',
  ]);
  mkdirSync(join(client, "src"));
  const made = join(client, "src", "lib.rs");
  await run(["cargo", "run", "--quiet", "--", at(`${name}.json`), made], at("rust", "generator"));
  await run(["cargo", "check", "--quiet"], client);
}

try {
  const tools = {
    Spectral: lint,
    "openapi-typescript": typescript,
    orval: orvalClient,
    "@hey-api/openapi-ts": heyApiClient,
    "openapi-python-client": python,
    "oapi-codegen": go,
  };
  for (const name of await documents()) {
    for (const [tool, check] of Object.entries(tools)) {
      await check(name);
      process.stdout.write(`${name}: ${tool} has no complaint\n`);
    }
  }
  // Only of the public API: in Go, names of the admin API such as `NewApplication` are those of constructors.
  for (const name of ["public", "public-3.0"]) {
    await javaClients(name);
    process.stdout.write(`${name}: OpenAPI Generator has no complaint\n`);
  }
  await rust("public-3.0");
  process.stdout.write("public-3.0: progenitor has no complaint\n");
} finally {
  rmSync(directory, { recursive: true, force: true });
}
