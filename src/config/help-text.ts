/** The terminal width that every help text fits. */
export const helpColumns = 100;

const indentWidth = 29;
const indent = " ".repeat(indentWidth);

/** Formats a term and its meaning, which follows on the next line after a long term. */
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
