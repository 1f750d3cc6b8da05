/** Writes to standard output and waits until it is written: the process may end right after, with a full pipe. */
export function write(data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(data, (error) => (error ? reject(error) : resolve()));
  });
}

/** Prints a line. */
export function print(line: string): Promise<void> {
  return write(`${line}\n`);
}

/** A record as lines of name and value. */
export function recordLines(record: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  return Object.entries(record)
    .map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}`)
    .join("\n");
}

function shown(value: unknown): string {
  if (value === null) return "-";
  return Array.isArray(value) ? value.join(" ") || "-" : String(value);
}

/** Rows as columns that are as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
