import { fieldRules, type IntakeRules, requiredFields, shownField, unknownField } from './fields.ts';
import type { LineProblem } from './line.ts';

const CUSTOM_FIELD_PREFIX = 'customFields.';
const IMAGE_SEPARATOR = '|';
const TRUTHS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

/** The header row cannot be used, so that no row below it can be read. */
export class HeaderError extends Error {
  override readonly name = 'HeaderError';
  readonly problems: readonly string[];

  constructor(...problems: string[]) {
    super('the header row cannot be used');
    this.problems = problems;
  }
}

const isCustomField = (column: string): boolean => column.startsWith(CUSTOM_FIELD_PREFIX);

function columnProblem(column: string, known: ReadonlyMap<string, unknown>): string | undefined {
  if (column === '') return 'has no name; name it or remove it';
  if (column === 'customFields' || column === CUSTOM_FIELD_PREFIX)
    return 'give each custom field a column of its own, such as customFields.source';
  return known.has(column) || isCustomField(column) ? undefined : unknownField(column);
}

function headerProblems(columns: readonly string[], rules: IntakeRules): LineProblem[] {
  const known = fieldRules(rules);
  const problems: LineProblem[] = [];
  for (const [index, column] of columns.entries()) {
    const field = column === '' ? `column ${index + 1}` : column;
    const issue = columnProblem(column, known);
    if (issue !== undefined) problems.push({ field, issue });
    else if (columns.indexOf(column) < index)
      problems.push({ field, issue: 'stands twice; remove one of the two' });
  }
  for (const field of requiredFields(rules))
    if (!columns.includes(field)) problems.push({ field, issue: 'is missing; add this column' });
  return problems;
}

/** Refuses a header that would make every row wrong, with all that is wrong with it. */
export function checkHeader(columns: readonly string[], rules: IntakeRules): void {
  const [only = ''] = columns;
  if (columns.length === 1 && /[;\t]/.test(only))
    throw new HeaderError(
      'The columns are not separated by commas. Save the file with commas between the cells.',
    );
  const problems = headerProblems(columns, rules);
  if (problems.length > 0)
    throw new HeaderError(...problems.map(({ field = '', issue }) => `${shownField(field)}: ${issue}`));
}

function cellValue(column: string, cell: string): unknown {
  if (cell === '') return null;
  if (column === 'images') return cell.split(IMAGE_SEPARATOR).map((image) => image.trim());
  if (column === 'sameDay') return TRUTHS.get(cell.toLowerCase()) ?? cell;
  return cell;
}

interface Column {
  readonly index: number;
  readonly name: string;
}

/** RevalidationBatcher the cells of a row into the object that NDJSON would hold. */
export class CsvColumns {
  readonly count: number;
  readonly #fields: readonly Column[];
  readonly #customFields: readonly Column[];

  constructor(names: readonly string[]) {
    const columns = names.map((name, index) => ({ name, index }));
    this.count = names.length;
    this.#fields = columns.filter(({ name }) => !isCustomField(name));
    this.#customFields = columns
      .filter(({ name }) => isCustomField(name))
      .map(({ name, index }) => ({ name: name.slice(CUSTOM_FIELD_PREFIX.length), index }));
  }

  /** An empty cell is null; an empty custom field is left out. */
  record(cells: readonly string[]): Record<string, unknown> {
    const record: Record<string, unknown> = {};
    for (const { name, index } of this.#fields) record[name] = cellValue(name, cells[index] ?? '');
    if (this.#customFields.length > 0) record['customFields'] = this.#customFieldsOf(cells);
    return record;
  }

  #customFieldsOf(cells: readonly string[]): Record<string, string> {
    const filled = this.#customFields.filter(({ index }) => cells[index] !== '');
    // Not by assignment: a custom field may be called __proto__.
    return Object.fromEntries(filled.map(({ name, index }) => [name, cells[index] ?? '']));
  }
}
