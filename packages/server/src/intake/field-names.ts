/** The names of refused fields as they may be shown: on the status page, in alerts, and to users. */

const MAX_FIELDS = 20;
const MAX_FIELD_LENGTH = 100;
/** An address or a phone number is no name of a field: a body in the wrong format has lead data in its place. */
const LEAD_DATA = /@|(?:\d[ ./()-]{0,3}){6}/;

/** At most 20, each once. Names that look like data of a lead are `other`. */
export function shownFieldNames(fields: Iterable<string | null>): readonly string[] {
  const names = new Set<string>();
  for (const field of fields) {
    if (field !== null) names.add(LEAD_DATA.test(field) ? 'other' : field.slice(0, MAX_FIELD_LENGTH));
    if (names.size === MAX_FIELDS) break;
  }
  return [...names];
}
