/** The operator's page `/status`: the report as HTML, without inline styles or scripts. */
import { CLIENT_CLOSED_REQUEST } from '../http/exchange.ts';
import { MAX_PENDING_LEADS } from './consumers.ts';
import { formatBytes, formatCount, formatDuration, formatTime, formatValue } from './formats.ts';
import { type Html, html, NO_HTML } from './html.ts';
import { type Plot, renderHourBars, renderPlot, type Values } from './plots.ts';
import { LOW_FREE_BYTES, nameOf } from './problems.ts';
import type { ConsumerStatus, ConsumersStatus, StatusHistory, StatusReport } from './report.ts';

export type Range = 'hour' | 'day';

const DROP = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2s7 7.6 7 12.6A7 7 0 0 1 5 14.6C5 9.6 12 2 12 2z"/></svg>`;
/** The same drop as the icon of the tab. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%230b7285' d='M12 1s8 8.2 8 14a8 8 0 0 1-16 0C4 9.2 12 1 12 1z'/%3E%3C/svg%3E";

/** status.js loads the page again and copies the differences; rows with the same `data-key` are kept. */
export function renderStatusPage(report: StatusReport, range: Range): string {
  const { problems, version } = report;
  const title = problems.length === 0 ? 'Leadtap status' : `(${problems.length}) Leadtap status`;
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
<p class="refreshed"><noscript>Snapshot of </noscript><time datetime="${report.generatedAt}">${timeText(report.generatedAt, report)}</time><noscript> · <a href="?range=${range}">Reload</a></noscript></p>
</div></header>
<main>
${summarySection(report)}
${plotsSection(report, range)}
${factsSection(report)}
${consumersSection(report)}
</main>
<footer><p class="links">The same as JSON: <a href="status.json">status.json</a>. For Prometheus: <a href="metrics">metrics</a>.</p></footer>
</body>
</html>
`.markup;
}

const timeText = (iso: string, { generatedAt }: StatusReport): string =>
  formatTime(Date.parse(iso), Date.parse(generatedAt));

/** The time that has passed, with the exact time for the mouse and for screen readers. */
function ago(iso: string, report: StatusReport): Html {
  const seconds = (Date.parse(report.generatedAt) - Date.parse(iso)) / 1000;
  const exact = timeText(iso, report);
  return html`<time datetime="${iso}" title="${exact}">${formatDuration(seconds)} ago<span class="hidden">, ${exact}</span></time>`;
}

function summarySection({ problems, summary }: StatusReport): Html {
  if (problems.length === 0)
    return html`<section class="summary ok" role="status"><p>${summary}</p></section>`;
  const sentences = problems.map(({ kind, message }) => html`<p data-key="${kind}">${message}</p>`);
  return html`<section class="summary problem" role="status">${sentences}</section>`;
}

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
  readonly text: string;
  readonly isBad?: boolean;
}

function factsSection(report: StatusReport): Html {
  const { database, redis, disk, waitingRequests, version, uptimeSeconds } = report;
  const facts: Fact[] = [
    database.reachable
      ? { name: 'Database', text: `${database.engine}, reachable` }
      : { name: 'Database', text: 'unreachable', isBad: true },
    { name: 'Address', text: database.address },
  ];
  if (database.stampsAheadSeconds !== null) {
    const { latestStamp, stampsAheadSeconds } = database;
    facts.push({ name: 'Latest stamp', text: latestStamp === null ? 'none' : timeText(latestStamp, report) });
    const ahead = stampsAheadSeconds === 0 ? 'no' : formatDuration(Math.max(1, stampsAheadSeconds));
    facts.push({ name: 'Stamps ahead', text: ahead });
  }
  if (redis === null) facts.push({ name: 'Redis', text: 'not configured' });
  else if (redis.reachable) facts.push({ name: 'Redis', text: 'reachable, limits are shared' });
  else facts.push({ name: 'Redis', text: 'unreachable, limits per instance', isBad: true });
  if (disk) {
    const text = `${formatBytes(disk.freeBytes)} free of ${formatBytes(disk.totalBytes)}`;
    facts.push({ name: 'Disk', text, isBad: disk.freeBytes < LOW_FREE_BYTES });
  }
  facts.push({ name: 'Waiting requests', text: formatCount(waitingRequests) });
  facts.push({ name: 'Version', text: version }, { name: 'Uptime', text: formatDuration(uptimeSeconds) });
  const entries = facts.map(
    ({ name, text, isBad }) =>
      html`<div data-key="${name}"><dt>${name}</dt><dd${isBad ? html` class="bad"` : NO_HTML}>${text}</dd></div>`,
  );
  return html`<section aria-labelledby="system"><h2 id="system">System</h2><dl>${entries}</dl></section>`;
}

function consumersSection(report: StatusReport): Html {
  const { consumers } = report;
  const body = consumers === null ? html`<p>They could not be read.</p>` : consumersBody(consumers, report);
  const count = consumers?.recorded ? html` <span class="count">${countsOf(consumers)}</span>` : NO_HTML;
  return html`<section aria-labelledby="consumers"><h2 id="consumers">Consumers${count}</h2>${body}</section>`;
}

/** `12 active, 1 stale, 3 inactive`, without those that are 0. */
function countsOf({ active, stale, inactive }: ConsumersStatus): Html {
  const bad = stale === 0 ? NO_HTML : html`, <strong class="bad">${formatCount(stale)} stale</strong>`;
  const old = inactive === 0 ? NO_HTML : html`, ${formatCount(inactive)} inactive`;
  return html`${formatCount(active)} active${bad}${old}`;
}

const COLUMNS = [
  ...['Consumer', 'User', 'Last poll', 'Usual interval', 'Position', 'Waiting', 'Last 24 hours'],
];

function consumersBody({ recorded, listed, ...counts }: ConsumersStatus, report: StatusReport): Html {
  if (!recorded)
    return html`<p>Consumers are not recorded, because <code>LEADTAP_CONSUMERS=off</code>. Set it to <code>on</code> and start Leadtap again to see who polls.</p>`;
  const more = counts.active + counts.stale + counts.inactive - listed.length;
  if (listed.length === 0)
    return html`<p>No consumer has polled yet. Each token appears here a few seconds after its first poll.</p>`;
  const rest =
    more > 0
      ? html`<p class="note">${formatCount(more)} more are not shown. <code>leadtap consumers</code> lists all of them.</p>`
      : NO_HTML;
  // Narrow screens show rows as blocks. Some browsers then drop the table semantics, so the roles repeat them.
  return html`<table role="table">
<thead role="rowgroup"><tr role="row">${COLUMNS.map((column) => html`<th role="columnheader" scope="col">${column}</th>`)}</tr></thead>
<tbody role="rowgroup">${listed.map((consumer) => consumerRow(consumer, report))}</tbody>
</table>${rest}`;
}

function consumerRow(consumer: ConsumerStatus, report: StatusReport): Html {
  const { tokenId, userId, state, lastStatus, usualIntervalSeconds, pollsByHour } = consumer;
  const badge = state === 'active' ? NO_HTML : html` <strong class="badge ${state}">${state}</strong>`;
  const cells = [
    idOf(userId),
    html`${ago(consumer.lastPollAt, report)}${refusalOf(lastStatus)}`,
    html`${usualIntervalSeconds === null ? 'not known yet' : formatDuration(usualIntervalSeconds)}`,
    positionOf(consumer, report),
    waitingOf(consumer, report),
    pollsByHour === null ? html`–` : renderHourBars(pollsByHour),
  ];
  const columns = cells.map(
    (cell, index) => html`<td role="cell" data-label="${COLUMNS[index + 1] ?? ''}">${cell}</td>`,
  );
  return html`<tr role="row" data-key="${tokenId ?? ''} ${userId}" class="${state}"><th role="rowheader" scope="row">${consumerName(consumer)}${badge}</th>${columns}</tr>`;
}

/** In one piece: a person compares and copies it. One that is too long for its place is cut, and shown by the mouse. */
const idOf = (id: string): Html => html`<span class="id" title="${id}">${id}</span>`;

const consumerName = (consumer: ConsumerStatus): Html =>
  consumer.name || consumer.tokenId === null
    ? html`${nameOf(consumer)}`
    : html`token ${idOf(consumer.tokenId)}`;

/** The status of a refused poll. A client that disconnected before the answer was not refused. */
const refusalOf = (lastStatus: number): Html =>
  lastStatus >= 400 && lastStatus !== CLIENT_CLOSED_REQUEST
    ? html` <span class="badge">${lastStatus}</span>`
    : NO_HTML;

/** The later of both positions, as in `leadtap consumers`: all later leads are waiting. */
function positionOf({ deliveredThrough, confirmedThrough }: ConsumerStatus, report: StatusReport): Html {
  const delivered = deliveredThrough === null ? 'nothing' : timeText(deliveredThrough, report);
  const confirmed = confirmedThrough === null ? 'nothing' : timeText(confirmedThrough, report);
  const title = `delivered: ${delivered}, confirmed: ${confirmed}`;
  const position = [deliveredThrough ?? '', confirmedThrough ?? ''].sort().at(-1);
  if (!position) return html`<span title="${title}">none yet</span>`;
  return html`<time datetime="${position}" title="${title}">${timeText(position, report)}</time>`;
}

const countUpTo = (count: number): string =>
  count >= MAX_PENDING_LEADS ? `${formatCount(MAX_PENDING_LEADS)}+` : formatCount(count);

function waitingOf({ waiting, waitingSince }: ConsumerStatus, { generatedAt }: StatusReport): Html {
  const waited = waitingSince === null ? 0 : Date.parse(generatedAt) - Date.parse(waitingSince);
  const since = waitingSince === null ? NO_HTML : html`, oldest ${formatDuration(waited / 1000)}`;
  return html`${countUpTo(waiting)}${since}`;
}
