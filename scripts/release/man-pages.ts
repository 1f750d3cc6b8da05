/* Makes manual pages from the help texts of the commands. */
import { commands } from "../../src/cli/program.ts";

/** The source of a manual page. */
interface Page {
  /** Like "onair-serve". */
  readonly name: string;
  readonly summary: string;
  /** The output of `--help`. */
  readonly help: string;
}

/** Returns the pages of all commands by file name. Date (seconds since 1970) and version are in their margins. */
export async function manPages(version: string, time: number): Promise<Readonly<Record<string, string>>> {
  const named = await Promise.all(
    Object.entries(commands).map(async ([name, load]) => ({ name, command: await load() })),
  );
  const list = named
    .map(({ name, command }) => `  ${name}  ${command.summary}, see onair-${name}(1)`)
    .join("\n");
  const overview = `Usage: onair <command> [options]

${list}
  help  show the help of a command, like its --help
`;
  const pages: Page[] = [
    { name: "onair", summary: "the public API of a live-streaming platform", help: overview },
    ...named.map(({ name, command: { summary, help } }) => ({ name: `onair-${name}`, summary, help })),
  ];
  const date = new Date(time * 1000).toISOString().slice(0, 10);
  return Object.fromEntries(pages.map((page) => [`${page.name}.1`, manPage(page, version, date)]));
}

/** Returns one page in roff, the language of man. */
export function manPage({ name, summary, help }: Page, version: string, date: string): string {
  const [usage = "", ...rest] = help.trim().split(/\n\n+/);
  const title = `.TH ${name.toUpperCase()} 1 ${date} "onair ${version}" "On Air"`;
  const synopsis = usage
    .replace(/^Usage: /, "")
    .split("\n")
    .flatMap((line) => [".HP 6", escaped(line.trim())]);
  return `${[
    title,
    // No hyphenation, which would change names of variables, and no justification.
    ".nh",
    ".ad l",
    ".SH NAME",
    `${escaped(name)} \\- ${escaped(summary)}`,
    ".SH SYNOPSIS",
    ".PD 0",
    ...synopsis,
    ".PD",
    ".SH DESCRIPTION",
    ...rest.flatMap(block).filter((line, i) => i > 0 || line !== ".PP"),
    ...(name === "onair" ? [] : [".SH SEE ALSO", ".BR onair (1)"]),
  ].join("\n")}\n`;
}

/** A term and its meaning, separated by two spaces. */
const entryPattern = /^( {0,2})(\S+(?: \S+)*) {2,}(\S.*)$/;

/** Converts a paragraph, a list of terms with their meanings, or preformatted lines. */
function block(text: string): string[] {
  const lines = text.split("\n");
  const exit = /^Exit code: /.test(text);
  if (exit) return [".SH EXIT STATUS", ...paragraph(text.replace(/^Exit code: /, ""))];
  if (!lines.some((line) => entryPattern.test(line))) {
    const asIs = lines.every((line) => line.startsWith("  "));
    return asIs ? [".PP", ".nf", ...lines.map((line) => escaped(line)), ".fi"] : [".PP", ...paragraph(text)];
  }
  const out: string[] = [];
  for (const line of lines) {
    const [, , term, meaning] = entryPattern.exec(line) ?? [];
    if (term !== undefined && meaning !== undefined) out.push(".TP", bold(term), escaped(meaning));
    else if (/^ {2}\S/.test(line)) out.push(".TP", bold(line.trim()));
    else if (/^\S/.test(line)) out.push(".PP", escaped(line));
    else out.push(escaped(line.trim()));
  }
  return out;
}

const paragraph = (text: string): string[] => text.split("\n").map((line) => escaped(line.trim()));
const bold = (text: string) => `\\fB${escaped(text)}\\fR`;

/** Escapes a line of text for roff. */
const escaped = (text: string): string =>
  text
    // Terminals without UTF-8 cannot show this character.
    .replaceAll("…", "...")
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^[.']/, "\\&$&")
    .replace(
      /[^\0-\x7f]/gu,
      (sign) => `\\[u${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    );
