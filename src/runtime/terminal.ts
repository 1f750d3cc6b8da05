export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const codes: Readonly<Record<Style, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** An output for people. */
export interface Terminal {
  /** Styles a text when the output supports it. */
  style(style: Style, text: string): string;
  /** Prints a line, cut to the width of a terminal. */
  line(text: string): void;
  /** Prints a text, which may have several lines. */
  print(text: string): void;
}

/** The part of standard output that a terminal needs. */
interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Buffers the output until it is released, so that other output can come first. */
export function heldBack(output: Output): Output & { release(): void } {
  let held: string[] | null = [];
  return {
    get isTTY() {
      return output.isTTY === true;
    },
    get columns() {
      return output.columns ?? 0;
    },
    write: (text) => (held ? held.push(text) : output.write(text)),
    release() {
      const texts = held ?? [];
      held = null;
      for (const text of texts) output.write(text);
    },
  };
}

/**
 * Makes a terminal of an output. Only real terminals have widths, and colours unless NO_COLOR is set (no-color.org).
 */
export function terminalOn(output: Output, env: Readonly<Record<string, string | undefined>>): Terminal {
  const coloured = output.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return {
    style(style, text) {
      const [on, off] = codes[style];
      return coloured ? `\x1b[${on}m${text}\x1b[${off}m` : text;
    },
    line(text) {
      const { columns } = output;
      output.write(`${escapedAroundStyles(output.isTTY && columns ? cut(text, columns) : text)}\n`);
    },
    print: (text) => void output.write(escapedAroundStyles(text)),
  };
}

/** Cuts a line to a width. Wide characters count twice, escape sequences do not count. */
export function cut(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text;
  const fitting = Bun.sliceAnsi(text, 0, columns - 1);
  // A wide character in the last column does not fit.
  const overlaps = Bun.stringWidth(fitting) >= columns;
  return `${overlaps ? Bun.sliceAnsi(text, 0, columns - 2) : fitting}…`;
}

/** Characters that control a terminal or reorder a line, except tabs and line ends. */
const controls = /[^\P{Cc}\t\n\r]|\r(?!\n)|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Escapes control characters as in JSON, like `\u001b`, so that JSON keeps its meaning. */
export function escaped(text: string): string {
  return text.replace(controls, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const styleCodes = new RegExp(`(\\x1b\\[(?:${Object.values(codes).flat().join("|")})m)`);

/**
 * Escapes control characters, but keeps the styles of this program. All terminal output passes through this function.
 */
export function escapedAroundStyles(text: string): string {
  return text
    .split(styleCodes)
    .map((part, i) => (i % 2 === 0 ? escaped(part) : part))
    .join("");
}

/** Makes an untrusted text safe for the terminal: one line, without control characters. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, " ");
}

/** Formats the local time of day, like `16:04:05`. */
export function clockTime(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}
