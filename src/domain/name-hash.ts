/**
 * A hash of a username in 32 bits, the same in whatever ASCII case: FNV-1a, mixed so that its highest and its lowest bits
 * say different things.
 */
export function nameHash(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    hash = Math.imul(hash ^ (code >= 65 && code <= 90 ? code + 32 : code), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
