import { describe, expect, test } from "bun:test";
import {
  cut,
  escaped,
  escapedAroundStyles,
  heldBack,
  printable,
  terminalOn,
} from "../../src/runtime/terminal.ts";

function screen(options: { isTTY?: boolean; columns?: number } = {}) {
  const written: string[] = [];
  return { ...options, written, write: (text: string) => written.push(text) };
}

describe("a terminal", () => {
  test("has colours only on a TTY without NO_COLOR", () => {
    const tty = { ...screen(), isTTY: true };
    expect(terminalOn(tty, {}).style("red", "x")).toBe("\x1b[31mx\x1b[39m");
    expect(terminalOn(tty, { NO_COLOR: "" }).style("red", "x")).toBe("\x1b[31mx\x1b[39m");
    expect(terminalOn(tty, { NO_COLOR: "1" }).style("red", "x")).toBe("x");
    expect(terminalOn(screen(), {}).style("red", "x")).toBe("x");
  });

  test("gets lines that fit it", () => {
    const tty = screen({ isTTY: true, columns: 8 });
    const terminal = terminalOn(tty, {});
    terminal.line("12345678");
    terminal.line("123456789");
    terminal.line("안녕하세요");
    terminal.line("1안녕하세요");
    terminal.print("123456789\n");
    expect(tty.written).toEqual(["12345678\n", "1234567…\n", "안녕하…\n", "1안녕하…\n", "123456789\n"]);
    expect(Bun.stringWidth(cut(`\x1b[31m${"초".repeat(50)}\x1b[39m`, 80))).toBeLessThanOrEqual(80);
    const pipe = screen({ columns: 8 });
    terminalOn(pipe, {}).line("123456789");
    expect(pipe.written).toEqual(["123456789\n"]);
  });

  test("can be buffered until other output was written", () => {
    const real = screen();
    const held = heldBack(real);
    held.write("second");
    real.write("first");
    held.release();
    held.write("third");
    expect(real.written).toEqual(["first", "second", "third"]);
  });

  test("removes control characters, and no others", () => {
    expect(printable("a\tb\u009bc\u2066d")).toBe("a b c d");
    const [red, line] = ["\x1b[31mred\x1b[39m", "a\u001b[2Jb\u007f\tc\r\nd\u202e\r"];
    expect(escapedAroundStyles(`${red} ${line}`)).toBe(`${red} a\\u001b[2Jb\\u007f\tc\r\nd\\u202e\\u000d`);
    expect(escaped(red)).toBe("\\u001b[31mred\\u001b[39m");
    expect(printable("안녕 مرحبا 👩‍🚀 ñ")).toBe("안녕 مرحبا 👩‍🚀 ñ");
  });
});
