/** What one check found. A failed one keeps Leadtap from working; a warning does not. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do about it, a sentence each. */
  readonly fix: readonly string[];
}

export const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail, fix: [] });

export const warning = (check: string, detail: string, ...fix: string[]): Finding => ({
  check,
  state: 'warning',
  detail,
  fix,
});

export const failed = (check: string, detail: string, ...fix: string[]): Finding => ({
  check,
  state: 'failed',
  detail,
  fix,
});
