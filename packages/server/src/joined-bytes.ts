/**
 * Bytes that are kept, in memory of their own. Node takes small buffers from larger pieces that they share, and one that is
 * kept would keep the whole piece.
 */
export function joined(parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const bytes = Buffer.allocUnsafeSlow(length);
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  return bytes;
}
