/** The parts of `leadtap.read_page` and `leadtap.read_leads` (functions.sql), and what the latter returns. */
import { leadJson } from '../../leads/lead-json.ts';
import type { RenderedLead } from '../../leads/render.ts';
import { LEAD_COLUMNS } from '../../leads/row.ts';

const COLUMNS = LEAD_COLUMNS.map(({ column }) => `o.${column}`).join(', ');

/** Each row is found by its key (hence the limits): without statistics, a join would read all leads or branches of the company. */
export const PAGE = `unnest(leadtap.page_keys(company, branch, department, leadtap.from_ms(since_ms), page_limit))
             WITH ORDINALITY AS page (created_at, position)
     CROSS JOIN LATERAL (SELECT o.branch_id, o.department_id, ${COLUMNS}
                           FROM leadtap.leads AS o
                          WHERE o.company_id = company AND o.created_at = page.created_at LIMIT 1) AS l
     CROSS JOIN LATERAL (SELECT o.value, o.label, o.color, o.final FROM leadtap.statuses AS o
                          WHERE o.company_id = company AND o.value = l.status_value LIMIT 1) AS s`;

export const NAMES = {
  company_name: '(SELECT c.name FROM leadtap.companies AS c WHERE c.id = company)',
  branch_name:
    '(SELECT b.name FROM leadtap.branches AS b WHERE b.company_id = company AND b.id = l.branch_id)',
  department_name:
    '(SELECT d.name FROM leadtap.departments AS d WHERE d.company_id = company AND d.id = l.department_id)',
};

/** JSON escapes tabs and line feeds, so that these are the only ones. */
const TAB = `E'\\t'`;

export const LEAD_JSON = leadJson({
  toJson(type, value) {
    // Objects are parts of their own: jsonb writes numbers in other forms than JavaScript.
    if (type === 'object') return `${TAB} || ${value}::text || ${TAB}`;
    return `coalesce(to_json(${type === 'instant' ? `leadtap.to_iso(${value})` : value})::text, 'null')`;
  },
  status: 'to_json(s)::text',
  toObject: (entries) =>
    `${entries.map(([name, json], n) => `'${n === 0 ? '{' : ','}"${name}":' || ${json}`).join(' || ')} || '}'`,
  joined: NAMES,
});

/** A line of `leadtap.read_leads`: the time, and the JSON with every second part an object. */
export function toRenderedLead(line: string): RenderedLead {
  const [createdAt, ...parts] = line.split('\t');
  const json = parts.map((part, n) => (n % 2 === 1 ? JSON.stringify(JSON.parse(part)) : part)).join('');
  return { createdAt: Number(createdAt), json };
}
