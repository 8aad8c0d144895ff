import { EVERY_PLACE } from '../organisation.ts';
import { intervalMs, MEASURED_COMPANIES, MEASURED_USERS, type Shape } from './shape.ts';

/**
 * The expressions from which both databases make the rows of lead number `n`. Each is plain arithmetic on whole numbers,
 * which SQLite and PostgreSQL write alike.
 */
export const companyOfLead = ({ measuredOneIn, companies }: Shape): string => {
  const measured = `n / ${measuredOneIn} % ${MEASURED_COMPANIES}`;
  if (measuredOneIn === 1) return measured;
  return `CASE WHEN n % ${measuredOneIn} = 0 THEN ${measured}
    ELSE ${MEASURED_COMPANIES} + (n - n / ${measuredOneIn} - 1) % ${companies - MEASURED_COMPANIES} END`;
};

/** Which lead of its company it is: north and south take turns. */
export const positionOfLead = ({ measuredOneIn, companies }: Shape): string => {
  const measured = `n / ${measuredOneIn} / ${MEASURED_COMPANIES}`;
  if (measuredOneIn === 1) return measured;
  return `CASE WHEN n % ${measuredOneIn} = 0 THEN ${measured}
    ELSE (n - n / ${measuredOneIn} - 1) / ${companies - MEASURED_COMPANIES} END`;
};

export const stampOfLead = (shape: Shape, firstAt: number): string => `${firstAt} + n * ${intervalMs(shape)}`;

/** The users of the companies that are measured come first: number `n` is user `number` of company `company`. */
export const companyOfUser = ({ usersOfOthers }: Shape): string => {
  const measured = MEASURED_COMPANIES * MEASURED_USERS;
  return `CASE WHEN n < ${measured} THEN n / ${MEASURED_USERS}
    ELSE ${MEASURED_COMPANIES} + (n - ${measured}) / ${Math.max(1, usersOfOthers)} END`;
};

export const numberOfUser = ({ usersOfOthers }: Shape): string => {
  const measured = MEASURED_COMPANIES * MEASURED_USERS;
  return `CASE WHEN n < ${measured} THEN n % ${MEASURED_USERS} ELSE (n - ${measured}) % ${Math.max(1, usersOfOthers)} END`;
};

/** A value for each place of a user, by the user's number, as SQL; null where the place has none. */
export const byPlace = (of: (place: (typeof EVERY_PLACE)[number]) => string | undefined): string => {
  const cases = EVERY_PLACE.map((place, n) => {
    const value = of(place);
    return `WHEN ${n} THEN ${value === undefined ? 'NULL' : `'${value}'`}`;
  });
  return `CASE number % ${EVERY_PLACE.length} ${cases.join(' ')} END`;
};
