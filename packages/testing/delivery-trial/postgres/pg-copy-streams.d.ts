declare module 'pg-copy-streams' {
  import type { Writable } from 'node:stream';
  import type { Submittable } from 'pg';

  /** For `COPY … FROM STDIN`: the rows are written into it. */
  export function from(statement: string): Writable & Submittable;
}
