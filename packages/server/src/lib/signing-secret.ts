export const MIN_SECRET_BYTES = 32;

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** The error of a secret in base64 or base64url, without the secret; undefined if it is valid. */
export function secretProblem(text: string): string | undefined {
  if (!BASE64.test(text)) return 'is not base64';
  const bytes = decodeSecret(text).length;
  return bytes < MIN_SECRET_BYTES ? `has only ${bytes} bytes` : undefined;
}

/** Node decodes both alphabets under this name. */
export const decodeSecret = (text: string): Buffer => Buffer.from(text, 'base64url');
