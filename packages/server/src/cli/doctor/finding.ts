import { type Style, styled } from '../output.ts';

/** The result of one check. `failed` keeps Leadtap or leads from getting through, `warning` does not; `unknown` cannot be said yet. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed' | 'unknown';
  readonly detail: string;
  /** What to do, a sentence each. */
  readonly fix: readonly string[];
}

const make =
  (state: Finding['state']) =>
  (check: string, detail: string, ...fix: string[]): Finding => ({ check, state, detail, fix });

export const ok: (check: string, detail: string) => Finding = make('ok');
export const warning = make('warning');
export const failed = make('failed');

const MARKS: Record<Finding['state'], { readonly mark: string; readonly style: Style }> = {
  ok: { mark: '✓', style: 'green' },
  warning: { mark: '!', style: 'yellow' },
  failed: { mark: '✗', style: 'red' },
  unknown: { mark: '?', style: 'gray' },
};

export function formatFinding({ check, state, detail, fix }: Finding, isColoured: boolean): string {
  const { mark, style } = MARKS[state];
  const shownMark = isColoured ? styled(style, mark) : mark;
  return [`${shownMark} ${check}: ${detail}`, ...fix.map((line) => `    ${line}`)].join('\n');
}
