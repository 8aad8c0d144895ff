/** A secret that signs tokens is written as base64 or base64url, in a variable or in a file. */
export const MIN_SECRET_BYTES = 32;

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Node reads both alphabets by this one name. */
export const decodeSecret = (text: string): Buffer => Buffer.from(text, 'base64url');

/** What is wrong with it, without showing it; undefined when nothing is. */
export function secretProblem(text: string): string | undefined {
  if (!BASE64.test(text)) return 'is not base64';
  const bytes = decodeSecret(text).length;
  return bytes < MIN_SECRET_BYTES ? `has only ${bytes} bytes` : undefined;
}
