import { type Static, Type } from 'typebox';

/** A page never holds more leads than this; it is also the default of `limit`. */
export const MAX_LEADS_PER_PAGE = 100;
export const MIN_LEADS_PER_PAGE = 1;

/**
 * The lexical form of `since`: ISO 8601, wide enough for what clients really send. `T` may be lower-case or a
 * space; the `+` of an offset may have become a space on its way through a form-encoded query string.
 * Calendar rules (30 February, 25 o'clock) cannot be told by a pattern: the server checks them after it.
 */
export const SINCE_PATTERN =
  '^(\\d{4})-(\\d{2})-(\\d{2})(?:[Tt ](\\d{2}):(\\d{2}):(\\d{2})(?:\\.(\\d{1,9}))?(?:([Zz])|([+\\- ])(\\d{2})(?::?(\\d{2}))?)?)?$';

export const SINCE_EXAMPLE = '2026-03-02T09:30:00.000Z';

export const NewLeadsQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: MIN_LEADS_PER_PAGE,
      default: MAX_LEADS_PER_PAGE,
      description: `Maximum number of leads returned. Above ${MAX_LEADS_PER_PAGE} it counts as ${MAX_LEADS_PER_PAGE}.`,
      examples: [50],
    }),
  ),
  since: Type.Optional(
    Type.String({
      // Not SINCE_PATTERN: Postman and other converters build a value from a pattern, such as 0238-90-35, and send it.
      format: 'date-time',
      description:
        'ISO 8601 date-time. Only leads created strictly after it are returned, oldest first. Without an offset it is read as UTC; a date alone is its midnight UTC; more than three fraction digits are cut to milliseconds. Omit it to get the newest leads, newest first.',
      examples: [SINCE_EXAMPLE],
    }),
  ),
});

export type NewLeadsQuery = Static<typeof NewLeadsQuery>;
