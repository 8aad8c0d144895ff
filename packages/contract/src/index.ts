export { HEADERS, type HeaderName, type HeaderValues, headerSpelling } from './headers.ts';
export {
  exampleNewLead,
  exampleWrittenLeads,
  NewLead,
  WRITE_RESULTS,
  WrittenLead,
  WrittenLeads,
} from './intake.ts';
export { exampleLead, Lead, LeadStatus, sampleLead } from './lead.ts';
export {
  IMPORT_FIELDS,
  type ImportField,
  type ImportRule,
  LEAD_FIELDS,
  type LeadField,
  type LeadFieldName,
  type LeadFieldTable,
  type LeadFieldType,
} from './lead-fields.ts';
export {
  MAX_HEADER_BYTES,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_INTAKE_BYTES,
  MAX_INTAKE_LEADS,
  MAX_LEADS_PER_PAGE,
  MIN_LEADS_PER_PAGE,
  RATE_LIMITS,
} from './limits.ts';
export {
  LEADS_PATH,
  NEW_LEADS_PATH,
  type OpenApiDocument,
  openApiDocument,
} from './openapi.ts';
export { exampleProblem } from './openapi-responses.ts';
export type { Parameter, Response, Schema } from './openapi-types.ts';
export {
  LeadError,
  ParameterError,
  PROBLEM_CODES,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  Problem,
  type ProblemCode,
  problemType,
} from './problems.ts';
export {
  NewLeadsQuery,
  SINCE_EXAMPLE,
  SINCE_FORMS,
  SINCE_PATTERN,
} from './query.ts';
