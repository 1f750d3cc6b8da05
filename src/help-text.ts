/** The help of every command fits into a terminal of so many columns. */
export const helpColumns = 100;

const indentWidth = 29;
const indent = " ".repeat(indentWidth);

/** A term of a help text with what it means beside it, or below where the term is long. */
export function helpEntry(term: string, meaning: string): string {
  const [first = "", ...more] = wrapped(meaning, helpColumns - indentWidth);
  const head = `  ${term}`.padEnd(indentWidth);
  const lines = head.length > indentWidth ? [head, indent + first] : [head + first];
  return [...lines, ...more.map((line) => indent + line)].join("\n");
}

function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
