/**
 * A database of any size. A few companies are measured: they have the same users, branches and departments at every
 * size, and so does what their users ask for. Around them lie the other companies, and their own past.
 */
export interface Shape {
  readonly leads: number;
  readonly companies: number;
  /** One lead in so many belongs to a company that is measured. */
  readonly measuredOneIn: number;
  readonly usersOfOthers: number;
}

export const MEASURED_COMPANIES = 5;
export const MEASURED_USERS = 2000;

/** As many leads as this leave no room for others: each company that is measured has 200, two pages of each half. */
export const SMALL: Shape = {
  leads: 1000,
  companies: MEASURED_COMPANIES,
  measuredOneIn: 1,
  usersOfOthers: 0,
};
export const MEDIUM: Shape = { leads: 100_000, companies: 100, measuredOneIn: 2, usersOfOthers: 0 };

/** A tenth of the leads in the companies that are measured; about a thousand in each of the others, and 100 users. */
export function large(leads: number): Shape {
  const companies = Math.max(2 * MEASURED_COMPANIES, Math.round(leads / 1000));
  return { leads, companies, measuredOneIn: 10, usersOfOthers: 100 };
}

export const usersIn = ({ companies, usersOfOthers }: Shape): number =>
  MEASURED_COMPANIES * MEASURED_USERS + (companies - MEASURED_COMPANIES) * usersOfOthers;

export const HISTORY_MS = 300 * 24 * 3600 * 1000;

/** Leads come at even intervals for 300 days, until a moment ago. */
export const intervalMs = ({ leads }: Shape): number => Math.floor(HISTORY_MS / leads);
export const firstLeadAt = (shape: Shape, now: number): number =>
  Math.floor(now) - 60_000 - shape.leads * intervalMs(shape);
