export { HEADERS, type HeaderName, type HeaderValues, PROBLEM_MEDIA_TYPE } from './headers.ts';
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
export { MAX_HEADER_BYTES, RATE_LIMITS } from './limits.ts';
export { exampleProblem, NEW_LEADS_PATH, type OpenApiDocument, openApiDocument } from './openapi.ts';
export { headerSpelling } from './openapi-headers.ts';
export type { Parameter, Response, Schema } from './openapi-types.ts';
export { PROBLEM_GUIDE, type ProblemGuide } from './problem-guide.ts';
export {
  ParameterError,
  PROBLEM_CODES,
  PROBLEMS,
  Problem,
  type ProblemCode,
  problemType,
} from './problems.ts';
export {
  MAX_LEADS_PER_PAGE,
  MIN_LEADS_PER_PAGE,
  NewLeadsQuery,
  SINCE_EXAMPLE,
  SINCE_PATTERN,
} from './query.ts';
export { SINCE_FORMS } from './since-forms.ts';
