/** The operator's page `/status`: the report as HTML, without inline styles or scripts. */
import { escapeHtml } from '../escape.ts';
import { CLIENT_CLOSED_REQUEST } from '../http/exchange.ts';
import { MAX_PENDING_LEADS } from './consumers.ts';
import { formatBytes, formatCount, formatDuration, formatTime, formatValue } from './formats.ts';
import { type Html, html, NO_HTML } from './html.ts';
import { type Plot, renderHourBars, renderPlot, type Values } from './plots.ts';
import type { ConsumerStatus, ConsumersStatus, RequestError, StatusHistory, StatusReport } from './report.ts';
import { LOW_FREE_BYTES } from './rules.ts';
import { fixOf, nameOf } from './sentences.ts';

export type Range = 'hour' | 'day';

const DROP = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2s7 7.6 7 12.6A7 7 0 0 1 5 14.6C5 9.6 12 2 12 2z"/></svg>`;
/** The same drop as the icon of the tab. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%230b7285' d='M12 1s8 8.2 8 14a8 8 0 0 1-16 0C4 9.2 12 1 12 1z'/%3E%3C/svg%3E";

/** status.js loads the page again and copies the differences; rows with the same `data-key` are kept. */
export function renderStatusPage(report: StatusReport, range: Range, invocation: string): string {
  const { version } = report;
  const problems = report.problems.filter(({ severity }) => severity !== 'unknown').length;
  const title = problems === 0 ? 'Leadtap status' : `(${problems}) Leadtap status`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="base.css">
<link rel="stylesheet" href="status.css">
<script src="status.js" defer></script>
</head>
<body>
<a class="skip" href="#consumers">Skip to the consumers</a>
<header><div>
<h1 class="brand">${DROP} Leadtap status <span class="version">${version}</span></h1>
<p class="refreshed"><noscript>Snapshot of </noscript>${exactTime(report.generatedAt, report)}<noscript> · <a href="?range=${range}">Reload</a></noscript></p>
</div></header>
<main>
${summarySection(report)}
${consumersSection(report)}
${errorsSection(report)}
${refusalsSection(report)}
${plotsSection(report, range)}
${factsSection(report)}
</main>
<footer><p class="links">The same as JSON: <a href="status.json">status.json</a>. For Prometheus: <a href="metrics">metrics</a>.</p></footer>
</body>
</html>
`.markup.replaceAll('<code>leadtap ', () => `<code>${escapeHtml(invocation)} `);
}

const timeText = (iso: string, { generatedAt }: StatusReport): string =>
  formatTime(Date.parse(iso), Date.parse(generatedAt));

/** status.js adds the local time. */
const exactTime = (iso: string, report: StatusReport, title?: string): Html =>
  html`<time class="exact" datetime="${iso}"${title === undefined ? NO_HTML : html` title="${title}"`}>${timeText(iso, report)}</time>`;

/** The time that has passed, with the exact time for the mouse and for screen readers. */
function ago(iso: string, report: StatusReport): Html {
  const seconds = (Date.parse(report.generatedAt) - Date.parse(iso)) / 1000;
  const exact = timeText(iso, report);
  return html`<time datetime="${iso}" title="${exact}">${formatDuration(seconds)} ago<span class="hidden">, ${exact}</span></time>`;
}

function summarySection({ problems, good, note }: StatusReport): Html {
  const text = good ?? note;
  const kind = good === null ? 'unknown' : 'good';
  const sentence =
    text === null ? NO_HTML : html`<div class="finding ${kind}" data-key="${kind}"><p>${text}</p></div>`;
  const findings = problems.map(
    ({ kind, severity, message, fix, docs }) =>
      html`<div class="finding ${severity}" data-key="${kind}"><p>${message}</p><p class="fix">${withCode(fix)} <span class="docs">See ${docs} in the repository</span></p></div>`,
  );
  return html`<section class="summary" role="status" aria-label="Summary">${sentence}${findings}</section>`;
}

/** `` `…` `` is a command. */
const withCode = (text: string): Html[] =>
  text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));

const RANGES = [
  { range: 'hour', text: 'Last hour' },
  { range: 'day', text: 'Last 24 hours' },
] as const;

function plotsSection(report: StatusReport, range: Range): Html {
  const links = RANGES.map(({ range: other, text }) =>
    other === range
      ? html`<a href="?range=${other}" aria-current="true">${text}</a>`
      : html`<a href="?range=${other}">${text}</a>`,
  );
  return html`<section aria-labelledby="requests">
<div class="heading"><h2 id="requests">Requests</h2><nav aria-label="Time of the plots">${links}</nav>
<p class="note">This instance, since its start ${ago(report.startedAt, report)}. Leads are counted in the database.</p></div>
<div class="plots">${plotsOf(report.history[range], range).map(renderPlot)}</div>
</section>`;
}

const NO_POLLS = 'No polls yet';
const latest = (values: Values): number | null => values.at(-1) ?? values.at(-2) ?? null;
const total = (...series: readonly Values[]): number =>
  series.flat().reduce<number>((sum, value) => sum + (value ?? 0), 0);

function plotsOf(history: StatusHistory, range: Range): Plot[] {
  const from = Date.parse(history.from);
  const stepMs = history.stepSeconds * 1000;
  const { pollsPerSecond, p99Ms, rateLimited, rejected, failed } = history;
  const hourSteps = 3_600_000 / stepMs;
  const leads = history.leads ?? [];
  const isHour = range === 'hour';
  const p99 = latest(p99Ms);
  return [
    {
      ...{ title: 'Polls per second', unit: '/s', shape: 'steps', from, stepMs, empty: NO_POLLS },
      figure: formatValue(latest(pollsPerSecond) ?? 0),
      series: [{ kind: 'main', name: 'polls', values: pollsPerSecond }],
    },
    {
      ...{ title: 'p99 of polls', unit: ' ms', shape: 'steps', from, stepMs, empty: NO_POLLS },
      figure: p99 === null ? '–' : `${formatValue(p99)} ms`,
      series: [{ kind: 'main', name: 'p99', values: p99Ms }],
    },
    {
      ...{ unit: '', shape: 'bars', from, empty: 'Leads could not be counted' },
      title: isHour ? 'Leads in per minute' : 'Leads in per hour',
      figure: `${formatCount(total(leads.slice(-hourSteps)))}/h`,
      series: [{ kind: 'main', name: 'leads', values: isHour ? leads : sumGroups(leads, hourSteps) }],
      stepMs: isHour ? stepMs : 3_600_000,
    },
    {
      ...{ title: 'Refusals', unit: '', shape: 'bars', from, stepMs, empty: NO_POLLS },
      figure: formatCount(total(rateLimited, rejected, failed)),
      series: [
        { kind: 'amber', name: '429', values: rateLimited },
        { kind: 'grey', name: 'other 4xx', values: rejected },
        { kind: 'red', name: '5xx', values: failed },
      ],
    },
  ];
}

const sumGroups = (values: readonly number[], size: number): number[] =>
  Array.from({ length: values.length / size }, (_, group) =>
    total(values.slice(group * size, (group + 1) * size)),
  );

interface Fact {
  readonly name: string;
  readonly text: Html;
  readonly isBad?: boolean;
}

function factsSection(report: StatusReport): Html {
  const { database, leads, backup, redis, disk, hooks, waitingRequests, version, uptimeSeconds } = report;
  const facts: Fact[] = [
    database.reachable
      ? { name: 'Database', text: html`${database.engine ?? ''}, reachable` }
      : { name: 'Database', text: html`unreachable`, isBad: true },
    { name: 'Address', text: html`${database.address}` },
  ];
  if (database.bytes !== null) facts.push({ name: 'Size', text: html`${formatBytes(database.bytes)}` });
  if (disk) {
    const text = html`${formatBytes(disk.freeBytes)} free of ${formatBytes(disk.totalBytes)}`;
    facts.push({ name: 'Disk', text, isBad: disk.freeBytes < LOW_FREE_BYTES });
  }
  facts.push({ name: 'Last backup', text: backupOf(backup, report) });
  if (leads) {
    const { latestAt } = leads;
    facts.push({ name: 'Last lead', text: latestAt === null ? html`none` : ago(latestAt, report) });
  }
  if (database.stampsAheadSeconds !== null) {
    const { stampsAheadSeconds } = database;
    const ahead = stampsAheadSeconds === 0 ? 'no' : formatDuration(Math.max(1, stampsAheadSeconds));
    facts.push({ name: 'Stamps ahead', text: html`${ahead}` });
  }
  if (redis === null) facts.push({ name: 'Redis', text: html`not configured` });
  else if (redis.reachable) facts.push({ name: 'Redis', text: html`reachable, limits are shared` });
  else facts.push({ name: 'Redis', text: html`unreachable, limits per instance`, isBad: true });
  if (hooks && hooks.active + hooks.failing + hooks.disabled > 0) {
    const states = (['active', 'failing', 'disabled'] as const).filter((state) => hooks[state] > 0);
    const text = states.map((state) => `${formatCount(hooks[state])} ${state}`).join(', ');
    facts.push({ name: 'Webhooks', text: html`${text}`, isBad: hooks.failing + hooks.disabled > 0 });
  }
  facts.push({ name: 'Waiting requests', text: html`${formatCount(waitingRequests)}` });
  facts.push({ name: 'Version', text: html`${version}` });
  facts.push({ name: 'Uptime', text: html`${formatDuration(uptimeSeconds)}` });
  const entries = facts.map(
    ({ name, text, isBad }) =>
      html`<div data-key="${name}"><dt>${name}</dt><dd${isBad ? html` class="bad"` : NO_HTML}>${text}</dd></div>`,
  );
  return html`<section aria-labelledby="system"><h2 id="system">System</h2><dl>${entries}</dl></section>`;
}

/** No alarm if there is none: operators have other means. */
function backupOf(backup: StatusReport['backup'], report: StatusReport): Html {
  if (backup === null) return html`not known here; <code>leadtap backup FILE</code> prints the pg_dump line`;
  if (backup.lastAt !== null) return ago(backup.lastAt, report);
  return html`none known; <code>leadtap backup FILE</code> makes one`;
}

const SHOWN_ERRORS = 5;
const ERROR_COLUMNS = ['Time', 'Problem', 'Request id', 'Path'];

function errorsSection(report: StatusReport): Html {
  const { errors } = report;
  if (errors.length === 0) return NO_HTML;
  const row = ({ at, status, code, requestId, path }: RequestError) =>
    tableRow({ key: `${at} ${requestId}`, columns: ERROR_COLUMNS }, [
      exactTime(at, report),
      html`<span class="badge stale">${status}</span> ${code}`,
      idOf(requestId),
      html`${path}`,
    ]);
  const rows = errors.map(row);
  return html`<section data-key="errors" aria-labelledby="errors"><h2 id="errors">Last errors</h2>
<p class="note">Search the log for the request id: its lines have the cause.</p>
${table('errors', ERROR_COLUMNS, rows.slice(0, SHOWN_ERRORS))}${moreRows('errors', ERROR_COLUMNS, rows.slice(SHOWN_ERRORS), 'older')}</section>`;
}

const REFUSAL_COLUMNS = ['Problem', 'Last hour', '24 hours', 'Consumers, 24 hours', 'What to do'];

function refusalsSection({ refusals }: StatusReport): Html {
  if (refusals.length === 0) return NO_HTML;
  const rows = refusals.map((refusal) => {
    const { code, status, lastHour, last24Hours } = refusal;
    return tableRow({ key: code, columns: REFUSAL_COLUMNS }, [
      html`<span class="badge${status >= 500 ? ' stale' : ''}">${status}</span> ${code}`,
      html`${formatCount(lastHour)}`,
      html`${formatCount(last24Hours)}`,
      refusedConsumers(refusal),
      html`<span class="fix">${withCode(fixOf(code, onlyUserOf(refusal)))}</span>`,
    ]);
  });
  return html`<section data-key="refusals" aria-labelledby="refusals"><h2 id="refusals">Refusals</h2>
<p class="note">Requests to this instance that were answered with a problem. docs/errors.md in the repository explains each code.</p>
${table('refusals', REFUSAL_COLUMNS, rows)}</section>`;
}

/** Of the only consumer, for a command that can be pasted. */
const onlyUserOf = ({ consumers, others }: StatusReport['refusals'][number]): string | undefined =>
  consumers.length === 1 && others.last24Hours === 0 ? consumers[0]?.userId : undefined;

function refusedConsumers({ consumers, others }: StatusReport['refusals'][number]): Html {
  const entries = consumers.map(
    ({ name, tokenId, userId, last24Hours }) =>
      html`<li>${nameText(nameOf({ name, tokenId }))} (${nameText(userId)}): ${formatCount(last24Hours)}</li>`,
  );
  const rest =
    others.last24Hours === 0
      ? NO_HTML
      : html`<li>${entries.length === 0 ? 'not known' : 'others'}: ${formatCount(others.last24Hours)}</li>`;
  return html`<ul class="plain">${entries}${rest}</ul>`;
}

/** Names in any script, also from right to left, cannot change the order of the words around them. */
const nameText = (text: string): Html =>
  html`<bdi title="${text.slice(0, MAX_TITLE_LENGTH)}">${cut(text)}</bdi>`;

const MAX_TITLE_LENGTH = 1000;
const MAX_SHOWN_LENGTH = 120;
const cut = (text: string): string => {
  const characters = [...text.slice(0, 2 * MAX_SHOWN_LENGTH)];
  return characters.length > MAX_SHOWN_LENGTH ? `${characters.slice(0, MAX_SHOWN_LENGTH).join('')}…` : text;
};

const NOTHING = html`–`;

interface RowOptions {
  readonly key: string;
  readonly columns: readonly string[];
  readonly kind?: string;
}

/** Narrow screens show rows as blocks. Some browsers then drop the table semantics, so the roles repeat them. */
function tableRow({ key, columns, kind = '' }: RowOptions, [first, ...cells]: readonly Html[]): Html {
  const others = cells.map((cell, index) => {
    const kindOfCell = cell === NOTHING ? html` class="nothing"` : NO_HTML;
    return html`<td role="cell" data-label="${columns[index + 1] ?? ''}"${kindOfCell}>${cell}</td>`;
  });
  return html`<tr role="row" data-key="${key}" class="${kind}"><th role="rowheader" scope="row">${first ?? NO_HTML}</th>${others}</tr>`;
}

function table(name: string, columns: readonly string[], rows: readonly Html[]): Html {
  return html`<table role="table" class="${name}">
<thead role="rowgroup"><tr role="row">${columns.map((column) => html`<th role="columnheader" scope="col" data-key="${column}">${column}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows}</tbody>
</table>`;
}

function moreRows(name: string, columns: readonly string[], rows: readonly Html[], what: string): Html {
  if (rows.length === 0) return NO_HTML;
  return html`<details data-key="more"><summary>${formatCount(rows.length)} ${what}</summary>${table(name, columns, rows)}</details>`;
}

function consumersSection(report: StatusReport): Html {
  const { consumers } = report;
  const body = consumers === null ? html`<p>They could not be read.</p>` : consumersBody(consumers, report);
  const count = consumers?.recorded ? html` <span class="count">${countsOf(consumers)}</span>` : NO_HTML;
  return html`<section aria-labelledby="consumers"><h2 id="consumers">Consumers${count}</h2>${body}</section>`;
}

/** `12 active, 1 stale, 2 subscribed, 3 inactive`, without those that are 0. */
function countsOf({ active, stale, subscribed, inactive }: ConsumersStatus): Html {
  const bad = stale === 0 ? NO_HTML : html`, <strong class="bad">${formatCount(stale)} stale</strong>`;
  const old = inactive === 0 ? NO_HTML : html`, ${formatCount(inactive)} inactive`;
  const waiting = subscribed === 0 ? NO_HTML : html`, ${formatCount(subscribed)} subscribed`;
  return html`${formatCount(active)} active${bad}${waiting}${old}`;
}

const WEBHOOK = 'Webhook';
const COLUMNS = [
  ...[
    'Consumer',
    'User, company',
    'Last poll',
    'Usual interval',
    'Position',
    'Waiting',
    WEBHOOK,
    'Last 24 hours',
  ],
];
/** Those that need no attention: so many are shown at once. */
const SHOWN_CONSUMERS = 12;

function consumersBody({ recorded, listed, ...counts }: ConsumersStatus, report: StatusReport): Html {
  if (!recorded)
    return html`<p>Consumers are not recorded, because <code>LEADTAP_CONSUMERS=off</code>. Set it to <code>on</code> and start Leadtap again to see who polls.</p>`;
  const more = counts.active + counts.stale + counts.inactive + counts.subscribed - listed.length;
  if (listed.length === 0)
    return html`<p>No consumer has polled yet. Each token appears here a few seconds after its first poll.</p>`;
  const rest =
    more > 0
      ? html`<p class="note">${formatCount(more)} more: <code>leadtap consumers</code> lists all of them.</p>`
      : NO_HTML;
  const hasHooks = listed.some(({ hook }) => hook !== null);
  const columns = COLUMNS.filter((column) => hasHooks || column !== WEBHOOK);
  const rows = listed.map((consumer) => consumerRow(consumer, columns, report));
  const urgent = listed.filter(needsAttention).length;
  const shown = Math.max(SHOWN_CONSUMERS, urgent);
  return html`${table('consumers', columns, rows.slice(0, shown))}${moreRows('consumers', columns, rows.slice(shown), 'more')}${rest}`;
}

/** They are first in the list. */
const needsAttention = ({ state, problem, hasSkipped, tokenExpiresSoon, hook }: ConsumerStatus): boolean =>
  problem !== null ||
  hasSkipped ||
  (state !== 'inactive' && tokenExpiresSoon) ||
  (hook !== null && hook.state !== 'active');

function consumerRow(consumer: ConsumerStatus, columns: readonly string[], report: StatusReport): Html {
  const { tokenId, userId, companyId, state, lastStatus, usualIntervalSeconds, pollsByHour } = consumer;
  const now = Date.parse(report.generatedAt);
  const badge = state === 'active' ? NO_HTML : html` <strong class="badge ${state}">${state}</strong>`;
  const cells = [
    html`${consumerName(consumer)}${badge}${skipOf(consumer)}${expiryOf(consumer, now)}`,
    html`${idOf(userId)} <span class="company">${nameText(companyId)}</span>`,
    consumer.lastPollAt === null
      ? html`never`
      : html`${ago(consumer.lastPollAt, report)}${refusalOf(lastStatus)}`,
    html`${usualIntervalSeconds === null ? 'not known yet' : formatDuration(usualIntervalSeconds)}`,
    positionOf(consumer, report),
    waitingOf(consumer, report),
    ...(columns.includes(WEBHOOK) ? [hookOf(consumer, report)] : []),
    pollsByHour === null ? NOTHING : renderHourBars(pollsByHour, now),
  ];
  return tableRow({ key: `${tokenId ?? ''} ${userId}`, columns, kind: state }, cells);
}

const skipOf = ({ skipped }: ConsumerStatus): Html =>
  skipped === 0 ? NO_HTML : html` <strong class="badge stale">${countUpTo(skipped)} skipped</strong>`;

function expiryOf(
  { tokenExpiresAt, tokenExpiresSoon, tokenEnded, state }: ConsumerStatus,
  now: number,
): Html {
  if (tokenEnded !== null) return html` <span class="badge">token ${tokenEnded.replace('-', ' ')}</span>`;
  if (tokenExpiresAt === null || state === 'inactive') return NO_HTML;
  const leftMs = Date.parse(tokenExpiresAt) - now;
  if (leftMs <= 0) return html` <span class="badge">token expired</span>`;
  return tokenExpiresSoon
    ? html` <span class="badge">token expires in ${formatDuration(leftMs / 1000)}</span>`
    : NO_HTML;
}

/** In one piece: a person compares and copies it. One that is too long for its place is cut, and shown by the mouse. */
const idOf = (id: string): Html =>
  html`<bdi class="id" title="${id.slice(0, MAX_TITLE_LENGTH)}">${cut(id)}</bdi>`;

const consumerName = (consumer: ConsumerStatus): Html =>
  consumer.name || consumer.tokenId === null
    ? nameText(nameOf(consumer))
    : html`token ${idOf(consumer.tokenId)}`;

/** The status of a refused poll. A client that disconnected before the answer was not refused. */
const refusalOf = (lastStatus: number | null): Html =>
  lastStatus !== null && lastStatus >= 400 && lastStatus !== CLIENT_CLOSED_REQUEST
    ? html` <span class="badge">${lastStatus}</span>`
    : NO_HTML;

/** Its webhook subscription: the last event, and the state if that is not active. */
function hookOf({ hook }: ConsumerStatus, report: StatusReport): Html {
  if (hook === null) return NOTHING;
  const { state, lastEventAt, lastStatus, failures, count } = hook;
  const event = lastEventAt === null ? html`no event yet` : html`event ${ago(lastEventAt, report)}`;
  const response = lastStatus === null ? 'no response' : `status ${lastStatus}`;
  const failed = failures === 1 ? '' : `, ${formatCount(failures)} times`;
  const badge = state === 'active' ? NO_HTML : html` <strong class="badge stale">${state}</strong>`;
  return html`${event}${state === 'active' ? '' : `, ${response}${failed}`}${count > 1 ? ` (${count} subscriptions)` : ''}${badge}`;
}

/** The later of both positions, as in `leadtap consumers`: all later leads are waiting. */
function positionOf({ deliveredThrough, confirmedThrough }: ConsumerStatus, report: StatusReport): Html {
  const delivered = deliveredThrough === null ? 'nothing' : timeText(deliveredThrough, report);
  const confirmed = confirmedThrough === null ? 'nothing' : timeText(confirmedThrough, report);
  const title = `delivered: ${delivered}, confirmed: ${confirmed}`;
  const position = [deliveredThrough ?? '', confirmedThrough ?? ''].sort().at(-1);
  if (!position) return html`<span title="${title}">none yet</span>`;
  return exactTime(position, report, title);
}

const countUpTo = (count: number): string =>
  count >= MAX_PENDING_LEADS ? `${formatCount(MAX_PENDING_LEADS)}+` : formatCount(count);

function waitingOf({ waiting, waitingSince }: ConsumerStatus, { generatedAt }: StatusReport): Html {
  const waited = waitingSince === null ? 0 : Date.parse(generatedAt) - Date.parse(waitingSince);
  const since = waitingSince === null ? NO_HTML : html`, oldest ${formatDuration(waited / 1000)}`;
  return html`${countUpTo(waiting)}${since}`;
}
