export { HEADERS, type HeaderName, type HeaderValues, headerSpelling } from './headers.ts';
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
  MAX_LEADS_PER_PAGE,
  MAX_WAIT_S,
  MIN_LEADS_PER_PAGE,
  MIN_WAIT_S,
  RATE_LIMITS,
} from './limits.ts';
export { exampleProblem, NEW_LEADS_PATH, type OpenApiDocument, openApiDocument } from './openapi.ts';
export type { Parameter, Response, Schema } from './openapi-types.ts';
export {
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
