import { hash } from 'node:crypto';

/** A strong validator: the same bytes, the same tag. */
export const entityTag = (body: string | Buffer): string =>
  `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
