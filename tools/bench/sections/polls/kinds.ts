/** What users ask for. */
export const KINDS = {
  empty: 'empty poll: since the newest lead, as the Link of the last answer gives it',
  many: 'the same by 50,000 users instead of 6,000',
  newest: 'full page, without since: the newest 100 leads',
  since: 'full page, with since: the newest 100 leads, for which all users of a feed ask alike',
  apart: 'full page, with since: the newest 100 leads, for which every user asks with a time of the own',
  mixed: 'mixed: 95 % empty polls, 5 % full pages with since',
  history: 'full page, with a since far back, where only the database remembers',
  import: 'polls that follow their Links while 500 leads a second are imported',
} as const;

export type Kind = keyof typeof KINDS;

export const isKind = (name: string): name is Kind => Object.hasOwn(KINDS, name);
