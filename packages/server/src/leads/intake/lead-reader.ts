import type { FieldRule, IntakeRules, LeadDraft } from './fields.ts';
import { fieldRules, requiredFields, unknownField } from './fields.ts';
import type { LeadReading, LineProblem } from './line.ts';

export type LeadReader = (record: Readonly<Record<string, unknown>>) => LeadReading;

function missingFields(
  record: Readonly<Record<string, unknown>>,
  required: readonly string[],
): LineProblem[] {
  return required
    .filter((field) => record[field] === undefined || record[field] === null)
    .map((field) => ({ field, mend: 'is required; add it' }));
}

function readField(rules: ReadonlyMap<string, FieldRule>, draft: LeadDraft, field: string, value: unknown) {
  const rule = rules.get(field);
  return rule === undefined ? unknownField(field) : rule(draft, value)?.text;
}

/** Makes the reader that turns an object of the file into a lead, or into ALL that is wrong with it. */
export function leadReader(intake: IntakeRules): LeadReader {
  const rules = fieldRules(intake);
  const required = requiredFields(intake);
  return (record) => {
    const draft: LeadDraft = { fields: {} };
    const problems = missingFields(record, required);
    for (const [field, value] of Object.entries(record)) {
      if (value === null && required.includes(field)) continue;
      const mend = readField(rules, draft, field, value);
      if (mend !== undefined) problems.push({ field, mend });
    }
    const { companyId } = draft;
    if (companyId === undefined || problems.length > 0) return { kind: 'rejected', problems };
    return { kind: 'lead', lead: { ...draft, companyId } };
  };
}
