import { join } from "node:path";

/** The files of the pages by name, as they are served. Each name contains the hash of the content. */
export interface PageFiles {
  readonly files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>;
  /** The files that pages load: the script of each page, and the files that all pages load. */
  readonly entries: Readonly<Record<PageName | "style" | "font" | "icon", string>>;
}

/** The pages that are separate applications. */
export type PageName = "console" | "portal" | "welcome";

const here = import.meta.dir;
const scripts = ["console", "portal", "welcome"] as const;
const fontFile = "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2";
/** The name of the font in the style sheet, where the bundler must not inline it. */
const fontUrl = "inter.woff2";

/** Bundles the pages for browsers. Throws when they do not compile. */
export async function makePages(): Promise<PageFiles> {
  const options = { root: here, target: "browser", minify: true } as const;
  const { outputs } = await Bun.build({
    ...options,
    entrypoints: scripts.map((name) => join(here, `${name}.tsx`)),
    splitting: true,
    naming: { entry: "[name]-[hash].[ext]", chunk: "part-[hash].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const files: Record<string, Uint8Array<ArrayBuffer>> = {};
  for (const output of outputs) files[nameOf(output.path)] = new Uint8Array(await output.arrayBuffer());
  const script = (page: PageName) => {
    const found = Object.keys(files).find((file) => new RegExp(`^${page}-[a-z0-9]+\\.js$`).test(file));
    if (found === undefined) throw new Error(`The bundle has no script of ${page}`);
    return found;
  };
  const { font, icon } = await sharedFiles();
  const style = named("style", "css", new TextEncoder().encode(await styleSheet("style.css", font.name)));
  for (const { name, bytes } of [font, icon, style]) files[name] = bytes;
  const entries = { console: script("console"), portal: script("portal"), welcome: script("welcome") };
  return { files, entries: { ...entries, style: style.name, font: font.name, icon: icon.name } };
}

/** Bundles a style sheet of `style/`. @param font the file name of the font */
export async function styleSheet(file: string, font: string): Promise<string> {
  const entrypoints = [join(here, "style", file)];
  const options = { root: here, target: "browser", minify: true } as const;
  const [css] = (await Bun.build({ ...options, entrypoints, external: [fontUrl] })).outputs;
  if (css === undefined) throw new Error("The bundle has no style sheet");
  const text = (await css.text()).replaceAll(fontUrl, font);
  // The bundler writes each `:is()` three times. Chromium understands an old form too, with another specificity.
  return text.replace(/[^{}]*:-(?:webkit|moz)-any\([^{}]*\{[^{}]*\}/g, "");
}

/** Returns the files that all pages load, including those of the documentation. */
export async function sharedFiles() {
  return {
    font: named("inter", "woff2", await Bun.file(Bun.resolveSync(fontFile, here)).bytes()),
    icon: named("icon", "svg", await Bun.file(join(here, "style/icon.svg")).bytes()),
  };
}

const named = (name: string, extension: string, bytes: Uint8Array<ArrayBuffer>) => ({
  name: `${name}-${Bun.hash(bytes).toString(36)}.${extension}`,
  bytes,
});

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
