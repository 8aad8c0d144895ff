import type { LeadInput } from '../../store/records.ts';
import type { FieldRule, IntakeRules, LeadDraft } from './fields.ts';
import { fieldRules, requiredFields, unknownField } from './fields.ts';
import type { LeadReading, LineProblem } from './line.ts';

type LeadRecord = Readonly<Record<string, unknown>>;

export type LeadReader = (record: LeadRecord) => LeadReading;

const missingFields = (record: LeadRecord, required: readonly string[]): LineProblem[] =>
  required
    .filter((field) => record[field] === undefined || record[field] === null)
    .map((field) => ({ field, issue: 'is required; add it' }));

const hasCompany = (draft: LeadDraft): draft is LeadDraft & LeadInput => draft.companyId !== undefined;

function mendOf(rule: FieldRule | undefined, draft: LeadDraft, field: string, value: unknown) {
  return rule === undefined ? unknownField(field) : rule(draft, value)?.text;
}

/** Makes the reader that turns an object of the file into a lead, or into ALL that is wrong with it. */
export function leadReader(intake: IntakeRules): LeadReader {
  const rules = fieldRules(intake);
  const required = requiredFields(intake);
  return (record) => {
    const draft: LeadDraft = { fields: {} };
    const problems = missingFields(record, required);
    for (const field of Object.keys(record)) {
      const value = record[field];
      if (value === null && required.includes(field)) continue;
      const issue = mendOf(rules.get(field), draft, field, value);
      if (issue !== undefined) problems.push({ field, issue });
    }
    if (!hasCompany(draft)) return { kind: 'rejected', problems };
    return problems.length > 0 ? { kind: 'rejected', problems, lead: draft } : { kind: 'lead', lead: draft };
  };
}
