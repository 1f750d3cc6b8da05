import { jsonObject } from "../../domain/validation/json.ts";
import { clockTime, printable, type Style } from "../../runtime/terminal.ts";

type Fields = Readonly<Record<string, unknown>>;
type Paint = (style: Style, text: string) => string;

const levels: Readonly<Record<string, Style>> = { debug: "dim", info: "cyan", warn: "yellow", error: "red" };
/** The formats of events that have columns of their own. */
const known: Readonly<Record<string, (fields: Fields, paint: Paint) => string>> = { request, delivery };
/** The most characters of an object. Longer objects, such as all settings, are abbreviated. */
const longestObject = 100;

/** Renders complete JSON lines of the log as aligned text, styled by `paint`. */
export function textLines(paint: Paint): (lines: Uint8Array) => Uint8Array {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  return (lines) => {
    const texts = decoder.decode(lines).split("\n");
    return encoder.encode(texts.map((line) => (line === "" ? "" : textLine(line, paint))).join("\n"));
  };
}

function textLine(line: string, paint: Paint): string {
  const fields = jsonObject(line);
  if (!fields) return printable(line);
  const { time, level, event, stack, ...rest } = fields;
  const at = new Date(String(time));
  const head = [
    paint("dim", `${clockTime(at.getTime())}.${String(at.getMilliseconds()).padStart(3, "0")}`),
    paint(levels[String(level)] ?? "red", String(level).padEnd(5)),
  ];
  const columns = known[String(event)];
  const text = columns
    ? `${String(event).padEnd(9)}${columns(rest, paint)}`
    : `${paint("bold", printable(String(event)))}${pairs(rest, paint)}`;
  const trace = typeof stack === "string" ? stack.split("\n").slice(1) : [];
  return [
    `${head.join(" ")} ${text}`,
    ...trace.map((one) => paint("dim", `    ${printable(one.trim())}`)),
  ].join("\n");
}

function request({ method, path, status, duration_ms, ...rest }: Fields, paint: Paint): string {
  const code = Number(status);
  const style = code >= 500 ? "red" : code >= 400 ? "yellow" : "green";
  const took = `${Number(duration_ms).toFixed(1)} ms`.padStart(10);
  return `${paint(style, String(status))} ${took}  ${String(method)} ${printable(String(path))}${pairs(rest, paint)}`;
}

function delivery({ outcome, status, duration_ms, type, ...rest }: Fields, paint: Paint): string {
  const code = status === null ? "---" : String(status);
  const took = `${Number(duration_ms)} ms`.padStart(10);
  const failure = outcome === "ok" ? "" : ` ${paint("red", String(outcome))}`;
  const style = outcome === "ok" ? "green" : "red";
  return `${paint(style, code)} ${took}  ${printable(String(type))}${failure}${pairs(rest, paint)}`;
}

/** Formats fields as `name=value`. Leaves out null values. */
function pairs(fields: Fields, paint: Paint): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => ` ${paint("dim", `${printable(name)}=`)}${shownValue(value)}`)
    .join("");
}

function shownValue(value: unknown): string {
  if (typeof value === "object") {
    const text = JSON.stringify(value);
    return text.length > longestObject ? "{…}" : printable(text);
  }
  const text = printable(String(value));
  return /[\s"=]/.test(text) || text === "" ? JSON.stringify(text) : text;
}
