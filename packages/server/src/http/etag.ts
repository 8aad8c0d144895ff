import { hash } from 'node:crypto';

/** A strong validator: the same bytes, the same tag. */
export const entityTag = (body: string): string => `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;

/** RFC 9110: If-None-Match compares weakly, may list several tags, and `*` stands for any. */
export function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
