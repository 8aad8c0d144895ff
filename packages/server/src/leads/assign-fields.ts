/** Assigns the fields of a lead to the columns of a file, or to the answers of a form: by their names and sample values. */
import { fieldOfName, isWeakIdName, normalize, withoutQuestion } from './field-names.ts';
import { parseInstant } from './instant.ts';
import { DateFormatGuess } from './lead-times.ts';
import { CUSTOM_FIELD_PREFIX, isShortenedNumber, isValidText, type ParseOptions } from './parse-lead.ts';

export interface AssignOptions extends ParseOptions {
  /** Whether the company has this status, by its value or label. Absent: unknown. */
  readonly isStatus?: ((text: string) => boolean) | undefined;
}

/** A column of a file, or a question of a form. */
export interface Label {
  readonly name: string;
  /** The field that it has in any case; empty if it is ignored. Undefined: the field is to be found. */
  readonly field?: string | undefined;
  /** Samples, of which none is empty. */
  readonly values: readonly string[];
}

export interface Assignment {
  /** Empty: the label is ignored. */
  readonly field: string;
  /**
   * `given`: as the label says. `name`: its name stands for the field, and the samples can be its values. `creation-time`: a
   * custom field, because only a historical import sets the time of creation. `other`: a custom field.
   */
  readonly reason: 'given' | 'name' | 'creation-time' | 'other';
  /** Of samples that are times, but not ISO 8601. */
  readonly formats?: DateFormatGuess | undefined;
}

/** Whether the field can have these values of a label whose name stands for it. */
export type Accepts = (field: string, label: Label) => boolean;

/** No field is assigned twice. What is left becomes a custom field. */
export function assignFields(
  labels: readonly Label[],
  options: AssignOptions,
  accepts: Accepts = (field, label) => isPlausible(field, label, options),
): readonly Assignment[] {
  const taken = new Set(labels.flatMap(({ field }) => field ?? []));
  const found = labels.map(({ name, field }) => field ?? fieldOfName(name));
  const assigned = labels.map(({ field }) => field);
  const assign = (index: number, field: string): void => {
    const label = labels[index];
    if (!label || assigned[index] !== undefined || taken.has(field) || !accepts(field, label)) return;
    taken.add(field);
    assigned[index] = field;
  };
  for (const [index, field] of found.entries())
    if (field !== undefined && isAssignable(field, options)) assign(index, field);
  // A second phone number has the other field.
  for (const [index, field] of found.entries())
    if (field === 'phone1' || field === 'phone2') assign(index, field === 'phone1' ? 'phone2' : 'phone1');
  const nameCustomField = createCustomFieldNamer(taken);
  return labels.map((label, index) => {
    const field = assigned[index];
    if (label.field !== undefined) return { field: label.field, reason: 'given' };
    if (field === undefined) {
      const isCreationTime = found[index] === 'createdAt' && !options.historical;
      const reason = isCreationTime ? 'creation-time' : 'other';
      return { field: nameCustomField(label.name), reason };
    }
    const formats = guessFormats(field, label.values, options);
    return { field: refine(field, label.name, taken), reason: 'name', formats };
  });
}

const isAssignable = (field: string, { historical }: AssignOptions): boolean =>
  field !== 'customFields' && (field !== 'createdAt' || historical);

/** A list with one phone number has it in the first field, and "Name" beside "Vorname" is the last name. */
function refine(field: string, name: string, taken: ReadonlySet<string>): string {
  if (field === 'phone2' && !taken.has('phone1')) return 'phone1';
  const isLastName = taken.has('firstName') && !taken.has('lastName');
  const isName = withoutQuestion(normalize(name)) === 'name';
  return field === 'fullName' && isLastName && isName ? 'lastName' : field;
}

/** Names custom fields. The second one of a name gets a number. */
function createCustomFieldNamer(fields: ReadonlySet<string>): (label: string) => string {
  const taken = new Set(fields);
  const counts = new Map<string, number>();
  return (label) => {
    const name = `${CUSTOM_FIELD_PREFIX}${label}`;
    let field = name;
    for (let count = counts.get(name) ?? 2; taken.has(field); count += 1) {
      field = `${name} ${count}`;
      counts.set(name, count + 1);
    }
    taken.add(field);
    return field;
  };
}

/** Places are ids of Leadtap; a column of another program has names. */
const PLACES: ReadonlySet<string> = new Set(['companyId', 'branchId', 'departmentId']);
const TIMES: ReadonlySet<string> = new Set(['appointmentDateTime', 'createdAt']);

function isPlausible(field: string, { name, values }: Label, options: AssignOptions): boolean {
  const isSameName = normalize(name) === normalize(field);
  if (PLACES.has(field)) return isSameName;
  if (field === 'id') {
    const isCount = isWeakIdName(name) && isRowCount(values);
    return !isCount && new Set(values).size === values.length;
  }
  if (field === 'statusValue') return values.every((value) => options.isStatus?.(value) === true);
  if (TIMES.has(field)) return guessFormats(field, values, options)?.isPossible ?? true;
  // Some invalid cells, such as mistyped e-mail addresses, are errors of those rows.
  const valid = values.filter((value) => isValidText(field, value, options) || isShortenedNumber(value));
  return isSameName || valid.length * 2 >= values.length;
}

const isRowCount = (values: readonly string[]): boolean =>
  values.every((value, index) => /^\d{1,9}$/.test(value) && Number(value) === Number(values[0]) + index);

/** Undefined if the field has no times, or if the options can read all of them. */
function guessFormats(
  field: string,
  values: readonly string[],
  { times }: AssignOptions,
): DateFormatGuess | undefined {
  if (!TIMES.has(field)) return undefined;
  const parse = times?.parse ?? parseInstant;
  const others = values.filter((value) => parse(value) === undefined);
  const guess = new DateFormatGuess();
  for (const value of others) guess.add(value);
  return others.length === 0 ? undefined : guess;
}
