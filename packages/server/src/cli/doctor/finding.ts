/** What one check found. A failed one keeps Leadtap from working; a warning does not. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do about it, a sentence each. */
  readonly mend: readonly string[];
}

export const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail, mend: [] });

export const warning = (check: string, detail: string, ...mend: string[]): Finding => ({
  check,
  state: 'warning',
  detail,
  mend,
});

export const failed = (check: string, detail: string, ...mend: string[]): Finding => ({
  check,
  state: 'failed',
  detail,
  mend,
});

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** `ENOENT` and its like; undefined for errors that are none of the system's. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
