import { createHash } from 'node:crypto';

/** An id may be personal data, an e-mail address for one, so only its hash is kept. PostgreSQL computes the same in a trigger. */
export const hashErasedId = (id: string): string => createHash('sha256').update(id).digest('hex');
