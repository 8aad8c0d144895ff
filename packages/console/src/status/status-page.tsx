import type { StatusConsumer, StatusJson } from '@leadtap/contract';
import type { Signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { HoursLegend } from '../diagnosis/hours.tsx';
import { Sign } from '../diagnosis/level.tsx';
import { type Diagnosis, DiagnosisRow, type DiagnosisRowProps, DiagnosisRows } from '../diagnosis/rows.tsx';
import { Text, visible } from '../text.tsx';
import { formatExact } from '../time.tsx';
import { headlineOf } from './headline.ts';

/** A consumer, or a sender, which has no webhook. */
type Listed = Pick<StatusConsumer, 'tokenId' | 'userId' | 'companyId' | 'last24h' | keyof Diagnosis> &
  Partial<Pick<StatusConsumer, 'hook'>>;

interface StatusPageProps {
  readonly report: Signal<StatusJson | undefined>;
  readonly isAnswering: Signal<boolean>;
}

export function StatusPage({ report: { value: report }, isAnswering }: StatusPageProps): JSX.Element {
  const { level, text } = isAnswering.value ? (report ? headlineOf(report) : NOTHING_YET) : NO_ANSWER;
  const count = report?.problems.filter(({ severity }) => severity !== 'unknown').length ?? 0;
  document.title = isAnswering.value
    ? `${count === 0 ? '' : `(${count}) `}Leadtap status`
    : 'No answer: Leadtap status';
  return (
    <>
      <header class="bar">
        <p class="brand">Leadtap status {report && <span class="soft">{report.version}</span>}</p>
        {report && (
          <time class="account soft" dateTime={report.generatedAt}>
            {formatExact(Date.parse(report.generatedAt))}
          </time>
        )}
      </header>
      <main class="tab-status">
        <div class={isAnswering.value ? 'overview' : 'overview not-current'}>
          <div role="status">
            <h1 class={`headline ${level}`}>
              {text && <Sign level={level} />} {text ?? <span class="after-200ms">Asking the service…</span>}
            </h1>
          </div>
          {report && <Facts report={report} />}
        </div>
      </main>
    </>
  );
}

const NOTHING_YET = { level: 'unknown', text: undefined } as const;
const NO_ANSWER = {
  level: 'error',
  text: 'This instance does not answer. It is asked again every 5 seconds.',
} as const;

function Facts({ report }: { readonly report: StatusJson }): JSX.Element {
  const { problems, senders, consumers, refusals, errors, system } = report;
  const now = Date.parse(report.generatedAt);
  const render = (row: Listed) => <ListedRow key={row.id} row={row} now={now} />;
  return (
    <>
      <Rows
        title="Problems"
        rows={problems.map(({ kind, severity, docs, message, fix }) => ({
          ...{ id: kind, level: severity, label: kind, href: docs.slice(1), message, fix, isOpen: true },
        }))}
      />
      {senders?.listed.length !== 0 && (
        <Section title="Leads in">
          {senders ? <DiagnosisRows all={senders.listed} render={render} /> : UNREAD}
        </Section>
      )}
      <Section title="Leads out">
        {consumers ? <DiagnosisRows all={consumers.listed} render={render} /> : UNREAD}
        {consumers?.hint && (
          <p>
            <Text>{consumers.hint}</Text>
          </p>
        )}
      </Section>
      <Rows
        title="Last errors"
        rows={errors.map(({ at, status, code, requestId, path }) => ({
          ...{ id: requestId, level: 'error', label: formatExact(Date.parse(at)) },
          message: `${status} ${code}, ${path}`,
          fix: `Search the log for the request id \`${requestId}\`: its lines have the cause.`,
        }))}
      />
      <Rows
        title="Refused requests"
        rows={refusals.map(({ code, status, message, fix }) => ({
          ...{ id: code, level: status >= 500 ? 'error' : undefined, label: `${status} ${code}` },
          ...{ href: `docs#problem-${code}`, message, fix },
        }))}
      />
      <Section title="System">
        <dl class="system">
          {system.map(({ name, text, isBad }) => (
            <div key={name} class={isBad ? 'bad' : undefined}>
              <dt>{name}</dt>
              <dd>
                <Text>{text}</Text>
              </dd>
            </div>
          ))}
        </dl>
      </Section>
      <p class="overview-foot faint">
        <span>
          The same as JSON: <a href="status.json">status.json</a>. For Prometheus:{' '}
          <a href="metrics">metrics</a>.
        </span>
        <HoursLegend />
      </p>
    </>
  );
}

interface RowsProps {
  readonly title: string;
  readonly rows: readonly DiagnosisRowProps[];
}

/** Nothing if there is none. */
const Rows = ({ title, rows }: RowsProps) =>
  rows.length > 0 && (
    <Section title={title}>
      <ul class="consumers">
        {rows.map((row) => (
          <DiagnosisRow key={row.id} {...row} />
        ))}
      </ul>
    </Section>
  );

const UNREAD = <p>They could not be read.</p>;

interface SectionProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

const Section = ({ title, children }: SectionProps) => (
  <section aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);

function ListedRow({ row, now }: { readonly row: Listed; readonly now: number }): JSX.Element {
  const { name, tokenId, userId, companyId, hook, last24h } = row;
  const host = hook?.host && hook.host !== name ? ` → ${hook.host}` : '';
  return (
    <DiagnosisRow
      {...row}
      label={
        <bdi>
          {visible(`${name || (tokenId === null ? 'tokens without an id' : `token ${tokenId}`)}${host}`)}
        </bdi>
      }
      hours={last24h}
      now={now}
    >
      <span class="soft">
        <bdi>{visible(userId)}</bdi>, <bdi>{visible(companyId)}</bdi>
      </span>
    </DiagnosisRow>
  );
}
