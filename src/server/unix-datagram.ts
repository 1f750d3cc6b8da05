import { cFunctions } from "../runtime/c-library.ts";

const [unixFamily, datagram, closeOnExec, dontWait] = [1, 2, 0o2000000, 0x40];
/** The longest `sun_path` of `sockaddr_un`, which ends with a zero byte. */
const longestPath = 107;

/** Returns a function that sends a text to a socket, without waiting. A name with `@` is abstract. Linux only. */
export function datagramTo(path: string): (text: string) => void {
  const name = Buffer.from(path.replace(/^@/, "\0"));
  if (name.length > longestPath) throw new RangeError("the name of the socket is too long");
  const { socket, sendto } = library();
  const address = Buffer.concat([Buffer.from(new Uint16Array([unixFamily]).buffer), name]);
  const descriptor = socket(unixFamily, datagram | closeOnExec, 0);
  if (descriptor < 0) throw new Error("the socket cannot be created");
  return (text) => {
    const bytes = Buffer.from(text);
    sendto(descriptor, bytes, bytes.length, dontWait, address, address.length);
  };
}

const library = () =>
  cFunctions({
    socket: { args: ["int", "int", "int"], returns: "int" },
    sendto: { args: ["int", "buffer", "u64", "int", "buffer", "u32"], returns: "i64" },
  });
